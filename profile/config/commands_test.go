package config

import (
	"testing"

	"github.com/enr/inner/profile"
)

func TestCommandsFor(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // "" where it is no simple command, or has no entry
	}{
		{"npm install", "install"},
		{"npm install x @a/b@1.2.3 ./pk --save-dev -D", "install"},
		{"npm install 'x@^1.2'", ""},
		{`npm install "x@~1"`, ""},
		{"npm install --save-exact x", "install"},
		{"npm install x --workspace=a", "install"},
		{"npm install clean x", "clean"},
		{"npm", ""},
		{"npm run install", ""},
		{"npm  install", "install"},
		{"NPM install", ""},
		{"./npm install", ""},
		{"/usr/bin/npm install", ""},
		{"npm-install", ""},
		{"npm install; touch y", ""},
		{"npm install & touch y", ""},
		{"npm install && touch y", ""},
		{"npm install | sh", ""},
		{"npm install\ntouch y", ""},
		{"npm install\rtouch y", ""},
		{"npm install $(touch y)", ""},
		{"npm install `touch y`", ""},
		{"npm install $X", ""},
		{"npm install > y", ""},
		{"npm install < y", ""},
		{"npm install x >y", ""},
		{"npm install {a,b}", ""},
		{"npm install *", ""},
		{"npm install ?", ""},
		{"npm install [a]", ""},
		{"npm install ~/x", ""},
		{"npm install x #y", ""},
		{"npm install !x", ""},
		{"npm install \\x", ""},
		{"npm install 'x", ""},
		{`npm install "$X"`, ""},
		{`npm install 'a'"b"`, ""},
		{`npm install "a b"`, ""},
		{"npm install\x00", ""},
		{"npm install\ttouch", ""},
		{"npm install ^a", ""},
		{"npm install =ls", ""},
		{"A=b npm install", ""},
		{"npm=x install", ""},
		{"(npm install)", ""},
		{"! npm install", ""},
		{"time npm install", ""},
		{"npm install \u00a0touch", ""},
		{"npm install \u037e touch", ""},
		{"npm install -g x", ""},
		{"npm install x -g", ""},
		{"npm install --global x", ""},
		{"npm install --global=true", ""},
		{"npm install --glob", ""},
		{"npm install --location=global", ""},
		{"npm install --loc global", ""},
		{"npm install -Dg x", ""},
		{"npm install -gD x", ""},
		{"npm install --GLOBAL x", ""},
		{"npm install --no-global=false", ""},
		{"", ""},
		{" ", ""},
		{"''", ""},
		{"'' npm install", ""},
	} {
		table := Commands{}
		for _, kv := range []struct{ k, v string }{{"npm install", "install"}, {"npm install clean", "clean"}} {
			table.Profiles = append(table.Profiles, profile.KV{Key: kv.k, Value: kv.v})
		}
		words, _ := Simple(c.line)
		if got := table.For(words); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
