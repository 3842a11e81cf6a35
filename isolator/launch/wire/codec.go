package wire

import "encoding/binary"

// Bool is a truth as a byte.
func Bool(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Encoder writes what Decoder reads: numbers with the least byte first, and text after its length.
type Encoder struct{ Bytes []byte }

func (e *Encoder) U32(v uint32) { e.Bytes = binary.LittleEndian.AppendUint32(e.Bytes, v) }

func (e *Encoder) U64(v uint64) { e.Bytes = binary.LittleEndian.AppendUint64(e.Bytes, v) }

func (e *Encoder) Str(s string) {
	e.U32(uint32(len(s)))
	e.Bytes = append(e.Bytes, s...)
}

func (e *Encoder) List(l []string) {
	e.U32(uint32(len(l)))
	for _, s := range l {
		e.Str(s)
	}
}

// Decoder reads what Encoder wrote. The texts share one copy of the input.
type Decoder struct {
	Bad  bool // it is malformed; everything read since is empty
	rest string
}

// NewDecoder returns one that reads b.
func NewDecoder(b []byte) Decoder { return Decoder{rest: string(b)} }

// Done reports whether all was read, and well formed.
func (d *Decoder) Done() bool { return !d.Bad && d.rest == "" }

func (d *Decoder) U32() uint32 {
	if len(d.rest) < 4 {
		d.Bad, d.rest = true, ""
		return 0
	}
	v := uint32(d.rest[0]) | uint32(d.rest[1])<<8 | uint32(d.rest[2])<<16 | uint32(d.rest[3])<<24
	d.rest = d.rest[4:]
	return v
}

func (d *Decoder) U64() uint64 {
	v := uint64(d.U32())
	return v | uint64(d.U32())<<32
}

func (d *Decoder) Str() string {
	n := d.U32()
	if uint64(n) > uint64(len(d.rest)) {
		d.Bad, d.rest = true, ""
		return ""
	}
	v := d.rest[:n]
	d.rest = d.rest[n:]
	return v
}

func (d *Decoder) List() []string {
	n := d.U32()
	if uint64(n)*4 > uint64(len(d.rest)) {
		d.Bad, d.rest = true, ""
		return nil
	}
	l := make([]string, 0, n)
	for range n {
		l = append(l, d.Str())
	}
	return l
}
