package main

// What a second build costs in a box, beside the same on the host: the tools that keep caches,
// each with a project of its own, as far as they are installed and their registry answers.

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed crates.sh
var cratesScript string

// toolchain is one tool and what it builds.
type toolchain struct {
	name, program string
	files         map[string]string
	fetch, build  []string // fetch goes before the first build, on the host
	clean         string   // what the build made, to be built again from caches
}

func toolchains() []toolchain {
	return []toolchain{
		{
			name: "go build, 3 modules", program: "go",
			files: map[string]string{
				"go.mod":  "module example.com/m\n\ngo 1.21\n\nrequire github.com/spf13/pflag v1.0.5\n\nrequire github.com/BurntSushi/toml v1.3.2\n\nrequire golang.org/x/text v0.14.0\n",
				"main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/BurntSushi/toml\"\n\t\"github.com/spf13/pflag\"\n\t\"golang.org/x/text/cases\"\n)\n\nfunc main() { pflag.Parse(); fmt.Println(toml.Decode(\"\", &struct{}{})); _ = cases.Fold() }\n",
			},
			fetch: []string{"go", "mod", "tidy"}, build: []string{"go", "build", "-o", "out/m", "."}, clean: "out",
		},
		{
			name: "npm install, 71 packages", program: "npm",
			files: map[string]string{"package.json": `{"name":"m","version":"1.0.0","dependencies":{"express":"4.19.2"}}`},
			build: []string{"npm", "install", "--no-audit", "--no-fund", "--prefer-offline"}, clean: "node_modules",
		},
		{
			name: "cargo build, 2 crates", program: "cargo",
			files: map[string]string{
				"Cargo.toml":  "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"1\"\nmemchr = \"2\"\n",
				"src/main.rs": "fn main() { println!(\"{}\", itoa::Buffer::new().format(memchr::memchr(b'a', b\"ba\").unwrap())); }\n",
			},
			fetch: []string{"sh", "-c", cratesScript}, build: []string{"cargo", "build", "--quiet"}, clean: "target",
		},
		{ // from folders: what is kept is the wheel that pip builds of the source
			name: "pip install, 1 package built", program: "pip3",
			files: map[string]string{
				"src/pkg-1.0/setup.py":        "from setuptools import setup\n\nsetup(name=\"pkg\", version=\"1.0\", packages=[\"pkg\"])\n",
				"src/pkg-1.0/pkg/__init__.py": "",
				"src/pkg-1.0/PKG-INFO":        "Metadata-Version: 1.0\nName: pkg\nVersion: 1.0\n",
			},
			fetch: []string{"tar", "-czf", "pkg-1.0.tar.gz", "-C", "src", "pkg-1.0"},
			build: []string{"pip3", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--find-links", ".", "--find-links", "/usr/share/python-wheels", "--target", "site", "pkg==1.0"}, clean: "site",
		},
		{
			name: "mvn package", program: "mvn",
			files: map[string]string{
				"pom.xml":              `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>e</groupId><artifactId>m</artifactId><version>1</version><properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target></properties></project>`,
				"src/main/java/M.java": "public class M { public static void main(String[] a) {} }\n",
			},
			build: []string{"mvn", "-q", "package"}, clean: "target",
		},
	}
}

// caches measures each tool: cold and warm on the host, cold and warm in the box with the
// user's home, and warm in one with a home of its own.
func (b *bench) caches() {
	for _, tc := range toolchains() {
		if err := b.cachesOf(tc); err != nil { // it is not installed, or its registry does not answer
			fmt.Fprintf(os.Stderr, "inner: not measured: %s: %v\n", tc.name, err)
		}
	}
}

// withTools is a command for sh that finds Go, has node trust what the system trusts, and ends
// where a registry does not answer.
func withTools(words []string) string {
	line := "PATH=$PATH:/usr/local/go/bin; certs=/etc/ssl/certs/ca-certificates.crt; [ ! -e $certs ] || export NODE_EXTRA_CA_CERTS=$certs; timeout 300"
	for _, w := range words {
		line += " '" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return line
}

// cachesOf times a build on the host and in both boxes: once with cold caches, and in each round.
func (b *bench) cachesOf(tc toolchain) error {
	dir := filepath.Join(b.home, "caches-"+tc.program)
	const network = "network = true\n"
	const tail = "[env]\nclearenv = false\n"
	writeFiles(dir, tc.files)
	b.allowed(dir, map[string]string{"host-home": profile("sh", network+tail), "own-home": profile("sh", network+"home = \"own\"\n"+tail)})
	if tc.fetch != nil {
		if _, err := b.try(dir, "sh", "-c", withTools(tc.fetch)); err != nil {
			return err
		}
	}
	build := withTools(tc.build)
	in := func(profile string) []string { return []string{b.inner, "run", "-p", profile, "--", "-c", build} }
	ways := [][]string{{"sh", "-c", build}, in("host-home"), in("own-home")}
	var cold [3]float64
	var warm [3]series
	for round := range b.rounds + 1 { // the first is the cold one
		for n := range ways { // each goes first in a third of the rounds
			i := (n + max(round-1, 0)) % len(ways)
			must(os.RemoveAll(filepath.Join(dir, tc.clean)))
			begin := time.Now()
			if _, err := b.try(dir, ways[i]...); err != nil {
				return err
			}
			took := time.Since(begin).Seconds()
			if round == 0 {
				cold[i] = took
			} else {
				warm[i] = append(warm[i], took)
			}
		}
	}
	seconds := func(s float64) string { return fmt.Sprintf("%.2f s", s) }
	host := seconds(median(warm[0]))
	b.add(row{what: tc.name + ", on the host", figure: host, against: "cold, " + seconds(cold[0])})
	for i, name := range []string{"in a box with your home", "in a box with a home of its own"} {
		b.add(row{tc.name + ", " + name, seconds(median(warm[i+1])), "cold, " + seconds(cold[i+1]) + "; the host warm, " + host, times(warm[i+1].over(warm[0])), "≤ 1.3×"})
	}
	return nil
}
