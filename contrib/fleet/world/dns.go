package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// serveDNS answers on a UDP address for fixed names, each NAME=IP.
func serveDNS(addr string, fixed []string) error {
	known := map[string][4]byte{}
	for _, f := range fixed {
		name, text, _ := strings.Cut(f, "=")
		ip := net.ParseIP(text).To4()
		if ip == nil {
			return fmt.Errorf("%q is not NAME=IP", f)
		}
		known[name+"."] = [4]byte(ip)
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
		var m dnsmessage.Message
		if m.Unpack(packet[:n]) != nil || m.Response || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		ip, ok := known[strings.ToLower(q.Name.String())]
		m = dnsmessage.Message{
			Header: dnsmessage.Header{
				ID: m.ID, Response: true, Authoritative: true,
				RecursionDesired: true, RecursionAvailable: true,
			},
			Questions: m.Questions,
		}
		if !ok {
			m.RCode = dnsmessage.RCodeNameError
		} else if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{
				Name:  q.Name,
				Class: q.Class, TTL: 5,
			}, Body: &dnsmessage.AResource{A: ip}}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(reply, from)
		}
	}
}

// ask asks a server for the address of a name, and fails when nothing came: a refusal is an
// answer too, of a server that was reached.
func ask(server, name string) error {
	of, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 0x0707, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: of, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	query, err := m.Pack()
	if err != nil {
		return err
	}
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
