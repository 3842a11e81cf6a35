// Command package writes what inner's packages hold beside the program:
//
//	package schema            the JSON schema of profiles, for editors
//	package manual FILE.md    inner.toml(5), from the page on the profile language
//	package sbom BINARY       what BINARY was built from, as CycloneDX
//
// Each goes to standard output, and is the same for the same input and
// SOURCE_DATE_EPOCH.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "package: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var out []byte
	var err error
	switch {
	case len(args) == 1 && args[0] == "schema":
		out, err = schema()
	case len(args) == 2 && args[0] == "manual":
		out, err = manual(args[1])
	case len(args) == 2 && args[0] == "sbom":
		out, err = sbom(args[1])
	default:
		err = errors.New("usage: package schema | manual FILE.md | sbom BINARY")
	}
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(out)
	return err
}

// epoch is the time that everything bears.
func epoch() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, errors.New("SOURCE_DATE_EPOCH is not set to a number of seconds")
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func manual(file string) ([]byte, error) {
	date, err := epoch()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, text, found := strings.Cut(string(data), "\n")
	if !found || !strings.HasPrefix(string(data), "# ") {
		return nil, fmt.Errorf("%s does not begin with a title", file)
	}
	head := fmt.Sprintf("%% inner.toml 5 %q inner\n\n# NAME\ninner.toml - the profile language of inner\n\n# DESCRIPTION\n", date.Format("January 2006"))
	return md2man.Render([]byte(head + plainTables(text))), nil
}

// plainTables writes each row of a table as a term and what is said of it: in a
// terminal the tables would be wider than the line.
func plainTables(text string) string {
	var out strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rule := func(i int) bool { return i < len(lines) && strings.HasPrefix(lines[i], "|-") }
		switch {
		case !strings.HasPrefix(line, "|"):
			out.WriteString(line + "\n")
		case !rule(i) && !rule(i+1): // neither the head of a table nor the line below it
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			fmt.Fprintf(&out, "\n%s\n: %s\n", cells[0], strings.Join(cells[1:], "; "))
		}
	}
	return out.String()
}

// sbom lists what the build recorded in the binary (go version -m).
func sbom(file string) ([]byte, error) {
	date, err := epoch()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	settings, components := []node{}, []node{}
	for _, s := range info.Settings {
		settings = append(settings, node{"name": "go:build:" + s.Key, "value": s.Value})
	}
	library := func(name, version string) node {
		return node{
			"type": "library", "name": name, "version": version,
			"purl": "pkg:golang/" + name + "@" + version,
		}
	}
	components = append(components, library("std", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		one := library(m.Path, m.Version)
		one["properties"] = []node{{"name": "go:sum", "value": m.Sum}}
		components = append(components, one)
	}
	doc := node{ // the part of CycloneDX 1.5 that a Go binary can fill
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components,
		"metadata": node{
			"timestamp": date.Format(time.RFC3339), "properties": settings,
			"component": node{
				"type": "application", "name": info.Path,
				"hashes": []node{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sha256.Sum256(data))}},
			},
		},
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}
