package profile

import (
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	for line, want := range map[string]string{
		`github = true`: "",
		`lab = { hosts = ["lab.example", "lab.example:8443"], from = "file:~/token#a.b", header = "X-Token", env = "T", allow = ["GET *", "POST /a/*"], filter = true }`: "",
		`ssh = ["github.com", "git.lab.example:2222"]`: "",
		`ssh = true`:              `credentials.ssh: is a list of hosts`,
		`ssh = []`:                `credentials.ssh.hosts: is missing`,
		`ssh = ["*.lab.example"]`: `"*.lab.example" is not the name of one host`,
		`ssh = "github.com"`:      `credentials.ssh: is a list of hosts`,
		`ssh = { hosts = ["lab.example"], from = "env:T" }`:                                                      `credentials.ssh: is a list of hosts`,
		`lab = ["lab.example"]`:                                                                                  `credentials.lab.from: does not say where the value is`,
		`lab = true`:                                                                                             `credentials.lab: is no login that inner knows`,
		`lab = { from = "env:T" }`:                                                                               `credentials.lab.hosts: is missing`,
		`lab = { hosts = ["*.lab.example"], from = "env:T" }`:                                                    `"*.lab.example" is not the name of one host`,
		`lab = { hosts = ["10.0.0.1"], from = "env:T" }`:                                                         `"10.0.0.1" is not the name of one host`,
		`lab = { hosts = ["lab.example"] }`:                                                                      `credentials.lab.from: does not say where the value is`,
		`lab = { hosts = ["lab.example"], from = "env:A B" }`:                                                    `"A B" is not the name of a variable`,
		`lab = { hosts = ["lab.example"], from = "file:token" }`:                                                 `"token" is neither absolute nor below ~/`,
		`lab = { hosts = ["lab.example"], from = "env:T", env = "1" }`:                                           `"1" is not the name of a variable`,
		`lab = { hosts = ["lab.example"], from = "env:T", header = "" }`:                                         `"" is not one place in a request`,
		`lab = { hosts = ["lab.example"], from = "env:T", allow = ["x"] }`:                                       `"x" is not a method and a path`,
		`lab = { hosts = ["lab.example"], from = "env:T", query = "a", header = "b" }`:                           `is not one place in a request`,
		`lab = { hosts = ["lab.example"], from = "env:T", heder = "b" }`:                                         `did you mean`,
		`aws = { hosts = ["s3.amazonaws.com"], from = "env:AWS_SECRET_ACCESS_KEY" }`:                             `AWS_BEARER_TOKEN_BEDROCK`,
		`aws = { hosts = ["s3.amazonaws.com"], from = "file:~/.aws/credentials#default.aws_secret_access_key" }`: `no placeholder can stand`,
	} {
		_, err := new(Loader).LoadBytes(File{Path: "/p/x.toml", Data: []byte("schema_version = \"1\"\n[sandbox]\n[credentials]\n" + line + "\n[entrypoint]\ncmd = \"sh\"\n")}, Global)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
