package preview

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/stage"
)

// Every field of a plan is in what --dry-run --json prints: contrib/frozen.sh compares that.
func TestJSONHasEveryField(t *testing.T) {
	var full plan.Plan
	filled := map[string]string{}
	fillValue(reflect.ValueOf(&full).Elem(), "Plan", filled)
	for _, at := range []string{"Plan.Limits.Folder", "Plan.Empty", "Plan.Kept"} {
		delete(filled, at) // made for a run, or of its end
	}
	maps.DeleteFunc(filled, func(at, _ string) bool { // as words, see plan.Op.Words, or as a part of Plan.Env
		return strings.HasPrefix(at, "Plan.Ops.") || strings.HasPrefix(at, "Plan.Set.")
	})
	full.Ops = []plan.Op{{Kind: plan.OpBind, Source: "a source", Dest: "a place", Reason: "a reason"}}
	for _, text := range []string{"--bind", "a source", "a place", "a reason"} {
		filled[text] = text
	}
	if len(filled) < 40 {
		t.Fatalf("only %d values in a plan", len(filled))
	}
	text, err := JSON(preview(full))
	if err != nil {
		t.Fatal(err)
	}
	for at, value := range filled {
		if !strings.Contains(string(text), value) {
			t.Errorf("%s is not printed", at)
		}
	}
}

// fillValue gives everything in v a value of its own, and notes it under its name.
func fillValue(v reflect.Value, at string, filled map[string]string) {
	n := 40001 + len(filled)
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), at, filled)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fillValue(v.Field(i), at+"."+f.Name, filled)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := fmt.Appendf(nil, "bytes %d", n)
			v.SetBytes(text)
			if filled[at] = string(text); at == "Plan.Container.Filter" {
				filled[at] = base64.StdEncoding.EncodeToString(text)
			}
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), at, filled)
	case reflect.String:
		filled[at] = fmt.Sprintf("text %d", n)
		v.SetString(filled[at])
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
		filled[at] = fmt.Sprint(n)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
		filled[at] = fmt.Sprint(n)
	case reflect.Bool:
		v.SetBool(true)
		name := at[strings.LastIndexByte(at, '.')+1:]
		filled[at] = fmt.Sprintf("%q:true", strings.ToLower(name))
	default:
		panic(at + " is of a kind this test does not know")
	}
}

// What opens the person's display is not printed.
func TestDryJSONHidesTheDisplay(t *testing.T) {
	b := preview(plan.Plan{Data: [][]byte{[]byte("a cookie"), []byte("a file"), {0, 1}}})
	b.Facts.Display = &host.Display{Cookie: []byte("a cookie")}
	text, err := json.Marshal(data(b))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"fd":10,"text":"\u003chidden\u003e"},{"fd":11,"text":"a file"},{"base64":"AAE=","fd":12}]`
	if string(text) != want {
		t.Errorf("%s, not %s", text, want)
	}
}

func preview(p plan.Plan) *run.Prepared {
	return &run.Prepared{Run: &features.Run{Plan: p, Folder: stage.Dry()}}
}
