package runlog

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// appendFields writes a struct as encoding/json does, without the closing brace, field by field:
// encoding/json takes a good part of a millisecond to look at a type as large as these, once per
// process, and every process writes a line or two.
func appendFields(to []byte, v reflect.Value) []byte {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous {
			to = appendFields(to, value)
			continue
		}
		key, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if option != "" && value.IsZero() {
			continue
		}
		text, _ := json.Marshal(value.Interface()) // no field has a type that fails
		if len(to) > 0 {
			to = append(to, ',')
		}
		to = append(append(append(append(to, '"'), key...), `":`...), text...)
	}
	return to
}

// line returns a line of a record or of the audit log, without its end. Nothing in it can drive a
// terminal: people look at the files themselves.
func line(v any) []byte {
	fields := appendFields(make([]byte, 0, 1024), reflect.ValueOf(v))
	return append(append([]byte{'{'}, visible.JSON(fields)...), '}')
}
