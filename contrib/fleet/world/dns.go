package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"time"
)

// The few bytes of RFC 1035 that a server of fixed addresses needs: a header of twelve
// bytes, one question, and at most one answer of type A.

// serveDNS answers on a UDP address for fixed names, each NAME=IP.
func serveDNS(addr string, fixed []string) error {
	known := map[string]net.IP{}
	for _, f := range fixed {
		name, ip, _ := strings.Cut(f, "=")
		if known[name] = net.ParseIP(ip).To4(); known[name] == nil {
			return fmt.Errorf("%q is not NAME=IP", f)
		}
	}
	conn, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	packet := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(packet)
		if err != nil {
			return err
		}
		if reply, ok := answer(packet[:n], known); ok {
			_, _ = conn.WriteTo(reply, from)
		}
	}
}

// question returns the name of the one question of a packet, with a dot after each label, and where
// the question ends.
func question(query []byte) (name string, end int, ok bool) {
	if len(query) < 12 || query[2]&0x80 != 0 || binary.BigEndian.Uint16(query[4:]) != 1 {
		return "", 0, false
	}
	end = 12
	for end < len(query) && query[end] != 0 {
		length := int(query[end])
		if length > 63 || end+1+length >= len(query) {
			return "", 0, false
		}
		name += string(query[end+1:end+1+length]) + "."
		end += 1 + length
	}
	end += 5 // the last label, type and class
	return name, end, end <= len(query)
}

// answer returns the reply to a packet, and false for one that is no question.
func answer(query []byte, known map[string]net.IP) ([]byte, bool) {
	name, end, ok := question(query)
	if !ok {
		return nil, false
	}
	ip, ok := known[strings.ToLower(strings.TrimSuffix(name, "."))]
	reply := append([]byte{}, query[:end]...)
	reply[2], reply[3] = 0x85, 0x80 // a reply with authority; recursion is there
	clear(reply[6:12])
	switch kind := binary.BigEndian.Uint16(query[end-4:]); {
	case !ok:
		reply[3] |= 3 // no such name
	case kind == 1: // A
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4)
		reply = append(reply, ip...)
	}
	return reply, true
}

// ask asks a server for the address of a name, and fails when nothing came: a refusal is an
// answer too, of a server that was reached.
func ask(server, name string) error {
	query := []byte{7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, label := range strings.Split(name, ".") {
		query = append(append(query, byte(len(label))), label...)
	}
	query = append(query, 0, 0, 1, 0, 1)
	conn, err := net.DialTimeout("udp", server, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(query); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, err = conn.Read(make([]byte, 512))
	return err
}
