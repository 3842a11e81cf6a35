package learn

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/paths"
	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	read := func(p string) Access { return Access{Path: p, Host: File, Read: true} }
	write := func(p string) Access { return Access{Path: p, Write: true} }
	for _, tt := range []struct {
		name   string
		list   []Access
		want   string // home_allow, mounts and hidden, in this order
		exists []string
	}{
		{"nothing", nil, "", nil},
		{"what only the host has", []Access{read("/home/u/.npmrc"), read("/opt/tool/x")}, "allow ~/.npmrc, ro /opt/tool/x", nil},
		{"asked about is asked for, when it is a file", []Access{{Path: "/home/u/.toolrc", Host: File}, {Path: "/home/u/.tool", Host: Dir}}, "allow ~/.toolrc", nil},
		{"what nobody has", []Access{{Path: "/home/u/.none", Read: true}}, "", nil},
		{"what the box has", []Access{{Path: "/home/u/.tool", Host: File, Box: File, Read: true}}, "", nil},
		{"the system", []Access{read("/usr/share/x"), write("/tmp/x"), write("/dev/null"), read("/etc/x")}, "", nil},
		{"the project", []Access{write("/home/u/app/new"), read("/home/u/app/x")}, "", nil},
		{"read-only is not written", []Access{write("/data/ro/x"), read("/data/ro/y")}, "rw? /data/ro", nil},
		{"few files are files", []Access{read("/home/u/.config/tool/a"), read("/home/u/.config/tool/b")}, "allow ~/.config/tool/a, allow ~/.config/tool/b", nil},
		{"many are their folder", []Access{read("/home/u/.config/tool/a"), read("/home/u/.config/tool/b"), read("/home/u/.config/tool/d/c")}, "allow ~/.config/tool", nil},
		{"deep ones the folder they share", []Access{read("/home/u/go/pkg/mod/a/1"), read("/home/u/go/pkg/mod/a/2"), read("/home/u/go/pkg/mod/b/3")}, "allow ~/go/pkg/mod", nil},
		{"never what belongs to all", []Access{read("/home/u/.config/a/x"), read("/home/u/.config/b/x"), read("/home/u/.config/c/x"), {Path: "/home/u/.config", Host: Dir, Read: true}, {Path: "/home/u", Host: Dir, Read: true}}, "allow ~/.config/a/x, allow ~/.config/b/x, allow ~/.config/c/x", nil},
		{"a folder that is listed", []Access{{Path: "/home/u/.tool", Host: Dir, Read: true}}, "allow ~/.tool", nil},
		{"what is written is written in its folder", []Access{write("/home/u/.cache/tool/a/f")}, "rw? ~/.cache/tool", []string{"/home/u/.cache/tool/a"}},
		{"or in a file of the home", []Access{write("/home/u/.toolrc")}, "rw? ~/.toolrc", nil},
		{"reads of what is written", []Access{write("/home/u/.cache/tool/f"), read("/home/u/.cache/tool/g")}, "rw? ~/.cache/tool", nil},
		{"a folder of all that is made", []Access{write("/home/u/.cache")}, "", nil},
		{"secrets", []Access{read("/home/u/.ssh/id"), {Path: "/home/u/.ssh/none"}, {Path: "/home/u/.ssh", Host: Dir}, write("/home/u/.ssh/new")}, "hidden ssh ~/.ssh/id ~/.ssh", nil},
		{"masks of a home's dot entries", []Access{
			{Path: "/home/u/.maskrc", Host: File, Box: File, Read: true}, {Path: "/home/u/.masked", Host: Dir, Box: Dir, Read: true}, {Path: "/home/u/.looked", Host: Dir, Box: Dir},
		}, "allow ~/.masked, allow ~/.maskrc", nil},
		{"inner's own", []Access{read("/home/u/.inner/x"), write("/home/u/.inner/y")}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Suggest(tt.list, Setting{
				Home: "/home/u", Granted: map[string]bool{"/home/u/app": true, "/data": true, "/data/ro": false}, Own: []string{"/home/u/.inner"},
				Masked: []string{"/home/u/.maskrc", "/home/u/.masked", "/home/u/.looked"},
				Secret: func(p string) string {
					if paths.Below("/home/u/.ssh", p) {
						return "ssh"
					}
					return ""
				},
				Exists: func(p string) bool { return slices.Contains(tt.exists, p) },
			})
			var words []string
			for _, p := range got.HomeAllow {
				words = append(words, "allow "+p)
			}
			for _, m := range got.Mounts {
				words = append(words, m.Mode+map[bool]string{true: "?"}[m.Missing]+" "+m.Path)
			}
			for _, h := range got.Hidden {
				words = append(words, "hidden "+h.Key+" "+strings.Join(h.Paths, " "))
			}
			text := strings.ReplaceAll(strings.Join(words, ", "), "/home/u/", "~/")
			if d := cmp.Diff(tt.want, text); d != "" {
				t.Error(d)
			}
		})
	}
	programs := Suggest([]Access{
		{Path: "/usr/bin/git", Host: File, Box: File, Exec: true}, {Path: "/home/u/app/x", Host: File, Box: File, Exec: true}, {Path: "/usr/local/bin/git", Exec: true},
	}, Setting{Home: "/home/u", Granted: map[string]bool{"/home/u/app": true}, Secret: func(string) string { return "" }}).Programs
	if d := cmp.Diff([]string{"/usr/bin/git"}, programs); d != "" {
		t.Error(d)
	}
}
