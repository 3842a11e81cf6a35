package registry

// How each client is asked, and how the same is said to one in a box.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/enr/inner/profile"
)

// below are files of the user's home.
func below(h Host, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = filepath.Join(h.Home, n)
	}
	return out
}

// config is the user's folder of settings.
func config(h Host) string {
	if v, ok := h.Lookup("XDG_CONFIG_HOME"); ok && filepath.IsAbs(v) {
		return v
	}
	return filepath.Join(h.Home, ".config")
}

// variable adds the file or folder that a variable names.
func variable(h Host, list []string, name, rest string) []string {
	if v, ok := h.Lookup(name); ok && filepath.IsAbs(v) {
		return append(list, filepath.Join(v, rest))
	}
	return list
}

// npm (and with it pnpm and yarn 1, which read the same settings).

func npmFiles(h Host) []string { return below(h, ".npmrc") }

func npmVar(name string) bool { return strings.HasPrefix(strings.ToLower(name), "npm_config_") }

func askNPM(ctx context.Context, c call) (Answer, error) {
	var a Answer
	// Without -l, what is at its default is left out. Tokens are, too.
	// It would make its cache.
	out, err := c.run(ctx, []string{"npm_config_cache=" + c.Dir}, "config", "ls", "-l", "--json", "--no-update-notifier", "--logs-max=0")
	if err != nil {
		return a, err
	}
	var all map[string]any
	if err := json.Unmarshal(out, &all); err != nil {
		return a, errors.New("its settings cannot be read")
	}
	text := func(key string) string { s, _ := all[key].(string); return s }
	for _, key := range []string{"userconfig", "globalconfig"} {
		if f := text(key); filepath.IsAbs(f) {
			a.Files = append(a.Files, f)
		}
	}
	keys := []string{"registry"}
	for key := range all {
		if strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := a.grant(text(key)); err != nil {
			return Answer{Files: a.Files}, fmt.Errorf("its setting %s: %w", printable(key), err)
		}
		a.set("npm_config_"+key, bare(text(key)))
	}
	a.certificates("npm_config_cafile", text("cafile"))
	return a, nil
}

// pip.

func pipFiles(h Host) []string {
	list := append(below(h, ".pip/pip.conf", ".pyenv/version"), "/etc/pip.conf", "/etc/xdg/pip/pip.conf", filepath.Join(config(h), "pip/pip.conf"))
	list = variable(h, list, "PIP_CONFIG_FILE", "")
	return variable(h, list, "VIRTUAL_ENV", "pip.conf")
}

func pipVar(name string) bool {
	return strings.HasPrefix(name, "PIP_") || strings.HasPrefix(name, "PYENV_") || name == "VIRTUAL_ENV"
}

func askPip(ctx context.Context, c call) (Answer, error) {
	var a Answer
	env := []string{"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1"}
	// Python takes its time to start: both are asked at once.
	var help, list []byte
	var helpErr, listErr error
	var wg sync.WaitGroup
	wg.Go(func() { help, helpErr = c.run(ctx, env, "install", "--help") })
	wg.Go(func() { list, listErr = c.run(ctx, env, "config", "list") })
	wg.Wait()
	if helpErr != nil {
		return a, helpErr
	}
	// The help shows the index that holds, from all settings, without its password.
	index := ""
	for line := range strings.Lines(string(help)) {
		if _, rest, ok := strings.Cut(line, "--index-url <url>"); ok && !strings.Contains(line, "--extra-index-url") {
			_, rest, _ = strings.Cut(rest, "(default ")
			index, _, _ = strings.Cut(rest, ")")
		}
	}
	index = bare(strings.TrimSpace(index))
	if err := a.grant(index); err != nil {
		return a, fmt.Errorf("its index: %w", err)
	}
	a.set("PIP_INDEX_URL", index)
	if listErr != nil {
		return a, listErr
	}
	settings := pipSettings(string(list))
	var extra []string
	for _, address := range strings.Fields(settings["extra-index-url"]) {
		if err := a.grant(address); err != nil {
			return Answer{}, fmt.Errorf("its extra index: %w", err)
		}
		extra = append(extra, bare(address))
	}
	a.set("PIP_EXTRA_INDEX_URL", strings.Join(extra, " "))
	a.set("PIP_TRUSTED_HOST", strings.Join(strings.Fields(settings["trusted-host"]), " "))
	a.certificates("PIP_CERT", settings["cert"])
	// Which host the files are on only the index knows.
	for _, address := range append([]string{index}, extra...) {
		if err := a.linked(ctx, c, strings.TrimSuffix(address, "/")+"/pip/"); err != nil {
			a.Why = fmt.Sprintf("the index was not asked which host its files are on: %v", err)
		}
	}
	return a, nil
}

// pipSettings reads what `pip config list` prints: section.name='value', values
// as Python writes them. Of one name, install goes before global, and a variable
// before both.
func pipSettings(text string) map[string]string {
	rank := map[string]int{"global": 1, "install": 2, ":env:": 3}
	best, out := map[string]int{}, map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		section, name, dotted := strings.Cut(key, ".")
		if !ok || !dotted || len(value) < 2 || rank[section] < best[name] || rank[section] == 0 {
			continue
		}
		value = strings.ReplaceAll(value[1:len(value)-1], `\n`, "\n")
		best[name], out[name] = rank[section], value
	}
	return out
}

// most hosts that an index may name: one is usual.
const most = 4

// page fetches what is at an address of a host that was granted, unless its name leads
// nowhere: then this computer is offline, and a download would only wait for the same.
func (c call) page(ctx context.Context, a *Answer, address string) (data []byte, hops []string, err error) {
	entry, err := entryOf(address)
	if err != nil {
		return nil, nil, err
	}
	c.lookNew(ctx, a.Places)
	if slices.ContainsFunc(a.Places, func(p Place) bool { return p.Entry == entry && p.Failed }) {
		return nil, nil, fmt.Errorf("%s has no address here", entry)
	}
	return c.Fetch(ctx, address)
}

// linked grants the hosts that a page of a simple index links to.
func (a *Answer) linked(ctx context.Context, c call, address string) error {
	page, hops, err := c.page(ctx, a, address)
	if err != nil {
		return err
	}
	for _, host := range hops {
		if err := a.grant("https://" + host); err != nil {
			return err
		}
	}
	before := len(a.Places)
	rest := string(page)
	for {
		_, after, ok := strings.Cut(rest, `href="`)
		if !ok {
			return nil
		}
		link, after, _ := strings.Cut(after, `"`)
		rest = after
		if !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://") {
			continue // relative: on the same host
		}
		link, _, _ = strings.Cut(link, "#")
		if err := a.grant(bare(link)); err != nil {
			return err
		}
		if len(a.Places)-before > most {
			a.Places = a.Places[:before]
			return fmt.Errorf("its files are on more than %d hosts", most)
		}
	}
}

// go.

func goFiles(h Host) []string {
	return variable(h, []string{filepath.Join(config(h), "go/env")}, "GOENV", "")
}

func goVar(name string) bool { return slices.Contains(append(goKept(), "GOENV", "GOROOT"), name) }

// goKept are the settings of modules, each a variable of its own.
func goKept() []string {
	return []string{"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE"}
}

func askGo(ctx context.Context, c call) (Answer, error) {
	var a Answer
	// A toolchain that a go.mod asks for would be fetched first, and in the home it
	// would count how often it is used.
	env := []string{"HOME=" + c.Dir, "XDG_CONFIG_HOME=" + c.Dir, "GOTOOLCHAIN=local", "GOFLAGS=", "GO111MODULE="}
	if _, ok := c.Lookup("GOENV"); !ok {
		env = append(env, "GOENV="+filepath.Join(config(c.Host), "go/env"))
	}
	out, err := c.run(ctx, env, append([]string{"env", "-json", "GOENV", "GOROOT"}, goKept()...)...)
	if err != nil {
		return a, err
	}
	all := map[string]string{}
	if err := json.Unmarshal(out, &all); err != nil {
		return a, errors.New("its settings cannot be read")
	}
	if filepath.IsAbs(all["GOENV"]) {
		a.Files = append(a.Files, all["GOENV"])
	}
	if filepath.IsAbs(all["GOROOT"]) {
		a.Files = append(a.Files, filepath.Join(all["GOROOT"], "go.env"))
	}
	if all["GOPROXY"], err = a.proxies(all["GOPROXY"]); err == nil {
		all["GOSUMDB"], err = a.checksums(all["GOSUMDB"])
	}
	if err != nil {
		return Answer{Files: a.Files}, err
	}
	for _, name := range goKept() {
		a.set(name, all[name])
	}
	return a, nil
}

// proxies grants the servers of GOPROXY, and returns it without logins.
func (a *Answer) proxies(setting string) (string, error) {
	for _, word := range strings.FieldsFunc(setting, func(r rune) bool { return r == ',' || r == '|' }) {
		word = strings.TrimSpace(word)
		if word == "" || word == "direct" || word == "off" || strings.HasPrefix(word, "file://") {
			continue
		}
		if err := a.grant(word); err != nil {
			return "", fmt.Errorf("its GOPROXY: %w", err)
		}
		setting = strings.Replace(setting, word, bare(word), 1)
	}
	return setting, nil
}

// checksums grants the server of GOSUMDB, and returns it without a login: NAME, NAME+KEY, or
// either with the address of a server after a blank (go help module-auth). It is asked
// through the proxy where that does it.
func (a *Answer) checksums(setting string) (string, error) {
	words := strings.Fields(setting)
	if len(words) == 0 || words[0] == "off" || len(a.Places) == 0 {
		return setting, nil
	}
	name, _, _ := strings.Cut(words[0], "+")
	address := "https://" + name
	if len(words) > 1 {
		address = words[1]
		setting = words[0] + " " + bare(address)
	}
	if err := a.grant(address); err != nil {
		return "", fmt.Errorf("its GOSUMDB: %w", err)
	}
	return setting, nil
}

// cargo.

func cargoHome(h Host) string {
	if v, ok := h.Lookup("CARGO_HOME"); ok && filepath.IsAbs(v) {
		return v
	}
	return filepath.Join(h.Home, ".cargo")
}

func cargoFiles(h Host) []string {
	dir := cargoHome(h)
	return []string{filepath.Join(dir, "config.toml"), filepath.Join(dir, "config")}
}

func cargoVar(name string) bool {
	return name == "CARGO_HOME" || name == "RUSTUP_HOME" || name == "RUSTUP_TOOLCHAIN" || name == "CARGO_HTTP_CAINFO" ||
		strings.HasPrefix(name, "CARGO_REGISTRIES_") && !strings.HasSuffix(name, "_TOKEN")
}

// askCargo lets cargo want a crate where it can reach nothing: its complaint names
// the address it would have used, whatever its settings put in the place of the
// usual one. There is no stable command that says it (measured with cargo 1.95).
func askCargo(ctx context.Context, c call) (Answer, error) {
	var a Answer
	err := c.write(map[string]string{
		"Cargo.toml": "[package]\nname = \"inner\"\nversion = \"0.0.0\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\na = \"*\"\n",
		"lib.rs":     "",
	})
	if err != nil {
		return a, err
	}
	env := []string{"CARGO_HTTP_PROXY=http://127.0.0.1:1", "CARGO_NET_RETRY=0", "CARGO_NET_GIT_FETCH_WITH_CLI=false", "CARGO_TERM_COLOR=never"}
	if _, err := os.Stat(cargoHome(c.Host)); err != nil {
		env = append(env, "CARGO_HOME="+c.Dir) // it would be made
	}
	text, err := c.complaint(ctx, env, "generate-lockfile")
	if err != nil {
		return a, err
	}
	index := between(text, "failed to download from `", "config.json`")
	if repo := between(text, "failed to fetch `", "`"); index == "" && repo != "" {
		// The default before cargo 1.70: which host the crates are on is written in there.
		if err := a.grant(repo); err != nil {
			return a, err
		}
		a.Why = "its index is a repository of git, which does not tell which host the crates are on (cargo 1.70 asks another)"
		return a, nil
	}
	if index == "" {
		return a, errors.New("it does not say which index it uses")
	}
	if err := a.grant(index); err != nil {
		return a, err
	}
	if strings.Contains(text, "replaced source") {
		a.ConfigAt = ".cargo/config.toml"
		a.Config = fmt.Sprintf("[source.crates-io]\nreplace-with = \"inner\"\n\n[source.inner]\nregistry = %s\n", profile.Quote("sparse+"+bare(index)))
	}
	if v, ok := c.Lookup("CARGO_HTTP_CAINFO"); ok {
		a.certificates("CARGO_HTTP_CAINFO", v)
	}
	if err := a.crates(ctx, c, bare(index)); err != nil {
		a.Why = fmt.Sprintf("the index was not asked which host its crates are on: %v", err)
	}
	return a, nil
}

// crates grants the host that the crates of an index are on, which the index says.
func (a *Answer) crates(ctx context.Context, c call, index string) error {
	data, hops, err := c.page(ctx, a, index+"config.json")
	if err != nil {
		return err
	}
	for _, host := range hops {
		err = errors.Join(err, a.grant("https://"+host))
	}
	var doc struct{ DL string }
	if err = errors.Join(err, json.Unmarshal(data, &doc)); err != nil {
		return err
	}
	return a.grant(doc.DL)
}

// Maven.

func mavenFiles(h Host) []string {
	return append(below(h, ".m2/settings.xml", ".m2/settings-security.xml", ".mavenrc"), "/etc/mavenrc", "/etc/maven/settings.xml", "/usr/share/maven/conf/settings.xml")
}

func mavenVar(name string) bool {
	return name == "JAVA_HOME" || name == "M2_HOME" || name == "MAVEN_HOME"
}

// askMaven wants a plugin with an empty cache and without the network: Maven names
// the repository it would have asked, its own or the mirror of the settings
// (measured with Maven 3.8.7).
func askMaven(ctx context.Context, c call) (Answer, error) {
	var a Answer
	args := []string{"-B", "-o", "-Dmaven.repo.local=" + filepath.Join(c.Dir, "m2")}
	// Java finds the home in the password file; the user's is the one of HOME.
	if s := filepath.Join(c.Home, ".m2/settings.xml"); isFile(s) {
		args = append(args, "-s", s)
	}
	text, err := c.complaint(ctx, nil, append(args, "inner:inner:1:inner")...)
	if err != nil {
		return a, err
	}
	what := between(text, "Cannot access ", ") in offline mode")
	id, address, ok := strings.Cut(what, " (")
	if !ok {
		return a, errors.New("it does not say which repository it uses")
	}
	if err := a.grant(address); err != nil {
		return a, err
	}
	if id != "central" {
		xml := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
		a.ConfigAt = ".m2/settings.xml"
		a.Config = fmt.Sprintf("<settings>\n  <mirrors>\n    <mirror>\n      <id>%s</id>\n      <mirrorOf>*</mirrorOf>\n      <url>%s</url>\n    </mirror>\n  </mirrors>\n</settings>\n",
			xml.Replace(id), xml.Replace(bare(address)))
	}
	return a, nil
}

// apt. Its settings are the system's, which a box sees.

func aptFiles(Host) []string {
	return []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/apt.conf", "/etc/apt/apt.conf.d"}
}

func askApt(ctx context.Context, c call) (Answer, error) {
	var a Answer
	out, err := c.run(ctx, nil, "indextargets", "--format", "$(SITE)")
	if err != nil {
		return a, err
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "http://") && !strings.HasPrefix(line, "https://") {
			continue // cdrom:, file:, mirror+…
		}
		if err := a.grant(bare(line)); err != nil {
			return Answer{}, err
		}
	}
	return a, nil
}

// between returns what stands between two texts, "" without them.
func between(text, left, right string) string {
	_, rest, ok := strings.Cut(text, left)
	what, _, ok2 := strings.Cut(rest, right)
	if !ok || !ok2 || strings.ContainsAny(what, "\n\r") {
		return ""
	}
	return what
}

// patience is how long a client may take, and largest how much it may say.
const (
	patience = 10 * time.Second
	largest  = 64 << 10
)
