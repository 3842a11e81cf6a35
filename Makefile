# inner: build, tests, checks. `make help` lists the targets.
#
# A fresh Debian or Ubuntu machine needs git, Go and make. What a target needs
# beyond that is looked for first and installed with apt-get (through sudo when
# you are not root); the packages are named before anything is installed.

GO      ?= go
# Root installs for everybody, anybody else for himself.
PREFIX  ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
PKG     ?= ./...
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# Tools of `make check` and `make package`, run by version and never installed: change them here.
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0

GOBUILD := CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags "-s -w -X main.version=$(VERSION)"

export GO GOFUMPT STATICCHECK NFPM

.DEFAULT_GOAL := build
.PHONY: build test attack agents twins podman online docker reach mutate frozen check lint fmt demo screenshot bench fuzz setup package package-test site install uninstall clean help

# The names of cmd/inner-beside, each with its commands.
BESIDE := inner-agent inner-attack inner-fetch inner-fleet inner-learn inner-proxy inner-verify

# carry compresses a program that bin/inner carries, and says by which digest and size it is known.
carry = gzip -6nc <bin/carried/$(1) >$(2).gz && echo "$$(sha256sum <bin/carried/$(1) | cut -c1-16) $$(stat -c %s bin/carried/$(1))" >$(2).sum

build: ## build bin/inner, which carries inner-box, inner-git and inner-shim, and the programs beside it
	@command -v $(GO) >/dev/null || { echo "inner: make: there is no \"$(GO)\" on your PATH; put Go's bin folder on it, or: make GO=FOLDER/go" >&2; exit 1; }
	@mkdir -p bin/carried
	$(GOBUILD) -o bin/carried/inner-box ./cmd/inner-box
	@$(call carry,inner-box,isolator/innerbox/box)
	$(GOBUILD) -o bin/carried/inner-git ./cmd/inner-git
	@$(call carry,inner-git,isolator/innerbox/git)
	$(GOBUILD) -tags programs -o bin/carried/inner-shim ./cmd/inner-shim
	@$(call carry,inner-shim,cmd/inner/shim)
	$(GOBUILD) -tags programs,carries -o bin/inner ./cmd/inner
	$(GOBUILD) -tags programs -o bin/inner-beside ./cmd/inner-beside
	@for name in $(BESIDE); do ln -sf inner-beside "bin/$$name"; done

test: ## install what the tests need and run them all (PKG=./hooks/... ARGS='-run X' for some)
	@contrib/setup.sh test
	@$(MAKE) --no-print-directory build
	@contrib/test.sh $(PKG) $(ARGS)

agents: ## install Claude Code, Gemini CLI, Codex and opencode from npm (1 GB) and show each in its sandbox
	@contrib/setup.sh agents
	@$(MAKE) --no-print-directory build
	@contrib/agents.sh versions
	@INNER_TEST_AGENTS=1 contrib/test.sh ./cmd/inner -count=1 -run 'TestClaude|TestAgents' $(ARGS)

twins: ## play the stories of two hands in one repository, with and without boxes (INNER_TWINS_CONTROL=1: no boxes)
	@contrib/setup.sh test
	@$(MAKE) --no-print-directory build
	@contrib/twins.sh $(ARGS)

podman: ## install podman (100 MB), show it making containers in its sandbox, and sandboxes that it makes
	@contrib/setup.sh test podman
	@$(MAKE) --no-print-directory build
	@contrib/podman.sh $(ARGS)

docker: ## install docker (300 MB), start a daemon of its own (as root), and show the sandboxes that it makes
	@contrib/setup.sh test docker
	@$(MAKE) --no-print-directory build
	@contrib/docker.sh $(ARGS)

attack: ## inner verify --attack with every profile, as a plain user and as root, under two umasks (10 minutes)
	@contrib/setup.sh test
	@$(MAKE) --no-print-directory build
	@contrib/attack.sh

online: ## fetch from the registries of npm and go, in the sandbox of a built-in profile
	@contrib/setup.sh test
	@$(MAKE) --no-print-directory build
	@INNER_TEST_ONLINE=1 contrib/test.sh ./cmd/inner -count=1 -run 'TestOnline' $(ARGS)

reach: ## real programs in boxes, and real servers at names (as root; 1.2 GB once; PARTS="names full agents figures" for some)
	@contrib/setup.sh reach
	@$(MAKE) --no-print-directory build
	@OLD='$(OLD)' contrib/reach.sh $(PARTS)

mutate: ## take out each guard that a promise rests on, in a copy, and see a test fail (GUARD="name ..." for some)
	@contrib/setup.sh test
	@contrib/mutate.sh $(GUARD)

frozen: ## show that plans and files of runs are those of another binary, OLD=path (HOSTS="name ..." for some; as root)
	@[ -n "$(OLD)" ] || { echo 'inner: OLD=path names the binary to compare with' >&2; exit 2; }
	@$(MAKE) --no-print-directory build
	@contrib/frozen.sh "$(OLD)" bin/inner $(HOSTS)

check: ## what every commit passes: lint, then the tests
	@contrib/setup.sh test
	@$(MAKE) --no-print-directory build
	@contrib/lint.sh
	@contrib/test.sh $(PKG) $(ARGS)

lint: ## formatting, vet, staticcheck, shell scripts, go.mod, house rules
	@contrib/setup.sh lint
	@$(MAKE) --no-print-directory build
	@contrib/lint.sh

fmt: ## format the Go code
	$(GO) run $(GOFUMPT) -l -w .

demo: ## show the main job in a sample project: a sandboxed command that was typed, not wrapped
	@contrib/setup.sh demo
	@$(MAKE) --no-print-directory build
	@contrib/demo.sh

screenshot: ## make the picture of the README: a session with the real Claude Code, and a model on loopback (as root)
	@contrib/setup.sh test
	@$(MAKE) --no-print-directory build
	@contrib/screenshot.sh

bench: ## measure against bwrap, direnv, script(1) and other sandboxes; prints the tables of docs/benchmarks.md
	@contrib/setup.sh bench
	@$(MAKE) --no-print-directory build
	@contrib/bench.sh

fuzz: ## fuzz every fuzz target for FUZZTIME each (default 30s)
	@contrib/fuzz.sh

setup: ## only install what build, test, demo and bench need
	@contrib/setup.sh test bench

package: ## deb, rpm, apk and Arch packages in bin/packages, with checksums and SBOM (KEY=file signs with that ssh key)
	@$(MAKE) --no-print-directory build
	@contrib/package.sh

package-test: ## install, use and purge the deb in a clean Debian, compare the other packages with it (as root; 150 MB once)
	@contrib/setup.sh package
	@$(MAKE) --no-print-directory build
	@contrib/package-test.sh

site: ## the documents as a site in bin/site, by mkdocs; a link that leads nowhere is an error
	@contrib/setup.sh site
	@contrib/site.sh

fleet: ## a Kubernetes of two nodes and podman on this machine, and inner on them (as root; PARTS="kube podman" for some)
	@contrib/setup.sh fleet
	@$(MAKE) --no-print-directory build
	@contrib/fleet.sh $(PARTS)

# Where bash, zsh and fish look for completions, below PREFIX/share.
COMPLETIONS := bash-completion/completions/inner zsh/site-functions/_inner fish/vendor_completions.d/inner.fish

install: ## install inner and completions in PREFIX (default ~/.local, for root /usr/local), and the programs beside it in PREFIX/libexec/inner
	@[ -x bin/inner ] && [ -x bin/inner-beside ] || $(MAKE) --no-print-directory build
	install -D -m 0755 -t "$(DESTDIR)$(PREFIX)/libexec/inner" bin/inner-beside
	@for name in $(BESIDE); do ln -sf inner-beside "$(DESTDIR)$(PREFIX)/libexec/inner/$$name"; done
	install -D -m 0755 -t "$(DESTDIR)$(PREFIX)/bin" bin/inner
	install -D -m 0644 completions/inner.bash "$(DESTDIR)$(PREFIX)/share/$(word 1,$(COMPLETIONS))"
	install -D -m 0644 completions/_inner "$(DESTDIR)$(PREFIX)/share/$(word 2,$(COMPLETIONS))"
	install -D -m 0644 completions/inner.fish "$(DESTDIR)$(PREFIX)/share/$(word 3,$(COMPLETIONS))"
	@rm -f -- "$(DESTDIR)$(PREFIX)/bin/inner-attack" # of the version before
	@[ -n "$(DESTDIR)" ] || "$(PREFIX)/bin/inner" hook

uninstall: ## remove from PREFIX what install put there
	cd "$(DESTDIR)$(PREFIX)" && rm -f -- bin/inner bin/inner-attack $(addprefix share/,$(COMPLETIONS))
	rm -rf -- "$(DESTDIR)$(PREFIX)/libexec/inner"

clean: ## remove what was built
	rm -rf -- bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
