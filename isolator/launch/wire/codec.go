package wire

import (
	"encoding/binary"
	"errors"
)

// Codec writes the fields of a value, or reads them: one list of them serves both, and so both
// have the same order. A number takes eight bytes, with the least first; text and lists come
// after their length. What is read shares one copy of the input.
type Codec struct {
	written []byte
	rest    string // what is left to read
	reading bool
	bad     bool // it is malformed; everything read since is empty
}

// Encode returns what Decode reads. size is about how long that is.
func Encode(size int, fields func(*Codec)) []byte {
	c := Codec{written: make([]byte, 0, size)}
	fields(&c)
	return c.written
}

// Decode reads what Encode returned, and nothing else.
func Decode(b []byte, fields func(*Codec)) error {
	c := Codec{rest: string(b), reading: true}
	fields(&c)
	if c.bad || c.rest != "" {
		return errors.New("malformed")
	}
	return nil
}

// take reads n bytes.
func (c *Codec) take(n uint64) string {
	if n > uint64(len(c.rest)) {
		c.bad, c.rest = true, ""
		return ""
	}
	v := c.rest[:n]
	c.rest = c.rest[n:]
	return v
}

// Number is one number.
func Number[T ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64](c *Codec, v *T) {
	if !c.reading {
		c.written = binary.LittleEndian.AppendUint64(c.written, uint64(*v))
		return
	}
	*v = 0
	for i, b := range []byte(c.take(8)) {
		*v |= T(uint64(b) << (8 * i))
	}
}

// Bools are truths.
func (c *Codec) Bools(list ...*bool) {
	for _, v := range list {
		var n uint8
		if *v {
			n = 1
		}
		Number(c, &n)
		*v = n != 0
	}
}

// Texts are pieces of text, or of bytes.
func (c *Codec) Texts(list ...*string) {
	for _, v := range list {
		n := len(*v)
		Number(c, &n)
		if c.reading {
			*v = c.take(uint64(n))
		} else {
			c.written = append(c.written, *v...)
		}
	}
}

// List is a list, each element by its fields. A malformed one ends where its input does.
func List[T any](c *Codec, list *[]T, fields func(*Codec, *T)) {
	n := len(*list)
	Number(c, &n)
	if c.reading {
		*list = nil
		for ; n > 0 && !c.bad; n-- {
			*list = append(*list, *new(T))
			fields(c, &(*list)[len(*list)-1])
		}
		return
	}
	for i := range *list {
		fields(c, &(*list)[i])
	}
}

// Strings is a list of texts.
func (c *Codec) Strings(list *[]string) {
	List(c, list, func(c *Codec, s *string) { c.Texts(s) })
}

// Optional is a value that may be missing.
func Optional[T any](c *Codec, v **T, fields func(*T, *Codec)) {
	there := *v != nil
	c.Bools(&there)
	if !there {
		return
	}
	if c.reading {
		*v = new(T)
	}
	fields(*v, c)
}
