package wire

import (
	"encoding/binary"
	"errors"
	"reflect"
)

// Encode returns what v points to: its fields in their order. A number and a truth take eight bytes, with the
// least first; text and lists come after their length, and what may be missing after whether it is there.
func Encode(v any) []byte { return encode(make([]byte, 0, 8<<10), reflect.ValueOf(v).Elem()) }

func encode(b []byte, v reflect.Value) []byte {
	var n uint64
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = encode(b, v.Field(i))
		}
		return b
	case reflect.Slice, reflect.Array:
		b = binary.LittleEndian.AppendUint64(b, uint64(v.Len()))
		for i := range v.Len() {
			b = encode(b, v.Index(i))
		}
		return b
	case reflect.String:
		return append(binary.LittleEndian.AppendUint64(b, uint64(v.Len())), v.String()...)
	case reflect.Pointer:
		if !v.IsNil() {
			return encode(binary.LittleEndian.AppendUint64(b, 1), v.Elem())
		}
	case reflect.Bool:
		if v.Bool() {
			n = 1
		}
	case reflect.Int:
		n = uint64(v.Int())
	default:
		n = v.Uint()
	}
	return binary.LittleEndian.AppendUint64(b, n)
}

// Decode reads what Encode returned into what v points to, and nothing else.
func Decode(b []byte, v any) error {
	d := decoder{rest: string(b)} // all text shares that copy
	d.value(reflect.ValueOf(v).Elem())
	if d.bad || d.rest != "" {
		return errors.New("malformed")
	}
	return nil
}

// decoder holds what is left to read. Of a malformed input everything that follows is empty.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) take(n uint64) string {
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, ""
		return ""
	}
	v := d.rest[:n]
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) number() (n uint64) {
	for i, b := range []byte(d.take(8)) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		n := d.number()
		if n > uint64(len(d.rest)) || v.Kind() == reflect.Array && int(n) != v.Len() {
			d.bad, d.rest = true, ""
			return
		}
		if v.Kind() == reflect.Slice {
			if v.SetZero(); n > 0 {
				v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
			}
		}
		for i := range int(n) {
			d.value(v.Index(i))
		}
	case reflect.String:
		v.SetString(d.take(d.number()))
	case reflect.Pointer:
		if v.SetZero(); d.number() != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem())
		}
	case reflect.Bool:
		v.SetBool(d.number() != 0)
	case reflect.Int:
		v.SetInt(int64(d.number()))
	default:
		v.SetUint(d.number())
	}
}
