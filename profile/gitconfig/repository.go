package gitconfig

import (
	"slices"
	"strings"
)

// Harmless reports whether a setting in a repository's own configuration runs no
// program and leads git to no other place. It knows harmless settings only: one that
// is not in its lists is not harmless. The function inside says whether the repository may
// have the work tree that core.worktree names, as it is written.
//
// Source: git-config(1) of git 2.39; gitattributes(5); git-lfs-config(5).
func Harmless(e Entry, inside func(worktree string) bool) bool {
	section, sub, name := e.Parts()
	if strings.HasPrefix(strings.TrimSpace(e.Value), "!") || runsByName(name) {
		return section == "core" && name == "fsmonitor" && boolean(e)
	}
	if harmless, ok := sections()[section]; ok {
		return harmless(repoSetting{sub: sub, name: name, value: e.Value, inside: inside})
	}
	return slices.Contains(plainSections(), section)
}

// repoSetting is what Harmless knows of a setting, whose section chose the function.
type repoSetting struct {
	sub, name, value string
	inside           func(worktree string) bool
}

// sections returns a function for each section of which only some settings are harmless. It is
// asked after runsByName. plainSections are the other sections.
func sections() map[string]func(repoSetting) bool {
	return map[string]func(repoSetting) bool{
		"core": ofCore, "remote": ofRemote, "submodule": ofSubmodule, "diff": ofTools, "merge": ofTools, "pull": ofStrategies, "branch": ofStrategies, "lfs": ofLFS,
		"url":  func(s repoSetting) bool { return !helperAddress(s.sub) },
		"init": func(s repoSetting) bool { return s.name == "defaultbranch" },
		"http": func(s repoSetting) bool {
			return slices.Contains([]string{"extraheader", "postbuffer", "version"}, s.name)
		},
	}
}

func ofCore(s repoSetting) bool {
	if s.name == "worktree" {
		return s.inside(s.value)
	}
	return slices.Contains(coreNames(), s.name)
}

func ofRemote(s repoSetting) bool {
	return slices.Contains(append(remoteNames(), "url", "pushurl", "update"), s.name) && ofSubmodule(s)
}

func ofSubmodule(s repoSetting) bool {
	switch s.name {
	case "url", "pushurl":
		return !helperAddress(s.value)
	case "update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, s.value)
	}
	return true
}

// ofTools refuses the name of a tool that is a path: git-mergetool--lib reads that file as shell code.
func ofTools(s repoSetting) bool {
	return s.sub == "" && s.name != "external" && (!strings.HasSuffix(s.name, "tool") || !strings.Contains(s.value, "/"))
}

// ofStrategies refuses a merge strategy that is a path: "-s X" starts git-merge-X (builtin/merge.c).
func ofStrategies(s repoSetting) bool {
	return !strings.Contains(s.value, "/") || !slices.Contains([]string{"twohead", "octopus", "mergeoptions"}, s.name)
}

func ofLFS(s repoSetting) bool {
	first, _, _ := strings.Cut(strings.ToLower(s.sub), ".")
	return first != "customtransfer" && first != "extension" && !strings.HasSuffix(s.name, "agent")
}

// runsByName reports whether the name of a setting has a word in it that git uses for programs.
func runsByName(name string) bool {
	for _, word := range []string{
		"cmd", "command", "hook", "program", "helper", "editor", "pager", "textconv", "askpass", "tunnel", "browser", "driver", "daemon", "exec",
		"script", "fsmonitor", "gitproxy", "uploadpack", "receivepack", "vcs", "smudge", "clean", "process", "templatedir", "authorsprog",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// True reports whether git takes the value for true.
func True(e Entry) bool {
	return e.Bare || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.Value))
}

// boolean reports whether git takes the value for true or false.
func boolean(e Entry) bool {
	return True(e) || slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(e.Value))
}

// helperAddress reports whether git would start git-remote-NAME for an address
// (gitremote-helpers(7)): NAME::address. The "::" of an IPv6 host comes after a slash or a bracket.
func helperAddress(s string) bool {
	name, _, ok := strings.Cut(s, "::")
	return ok && !strings.ContainsAny(name, "/[") || strings.HasPrefix(s, "-")
}

// plainSections returns the sections of which every setting is harmless, unless runsByName says
// otherwise.
func plainSections() []string {
	return []string{
		"advice", "am", "apply", "author", "blame", "checkout", "color", "column", "commit", "committer", "extensions", "feature", "fetch",
		"format", "fsck", "gc", "gitflow", "grep", "gui", "i18n", "index", "log", "maintenance", "notes", "pack", "pretty", "push",
		"rebase", "receive", "rerere", "reset", "sparse", "splitindex", "stash", "status", "svn", "svn-remote", "tag", "transfer", "user", "versionsort", "worktree",
	}
}

func coreNames() []string {
	return []string{
		"abbrev", "autocrlf", "bare", "bigfilethreshold", "checkstat", "commentchar", "commitgraph", "compression", "deltabasecachelimit", "eol",
		"excludesfile", "filemode", "filesreflocktimeout", "fscache", "fsync", "fsyncmethod", "fsyncobjectfiles", "hidedotfiles", "ignorecase",
		"ignorestat", "logallrefupdates", "longpaths", "loosecompression", "maxtreedepth", "multipackindex", "notesref", "packedgitlimit",
		"packedgitwindowsize", "packedrefstimeout", "precomposeunicode", "preloadindex", "protecthfs", "protectntfs", "quotepath",
		"repositoryformatversion", "safecrlf", "sharedrepository", "sparsecheckout", "sparsecheckoutcone", "splitindex", "symlinks", "trustctime",
		"untrackedcache", "usereplacerefs", "warnambiguousrefs", "whitespace",
	}
}

func remoteNames() []string {
	return []string{"fetch", "push", "mirror", "prune", "prunetags", "tagopt", "skipdefaultupdate", "skipfetchall", "promisor", "partialclonefilter", "followremotehead", "gh-resolved"}
}

// File returns settings as a file of git's format, under a comment of one line, about. Settings
// that the format cannot hold are left out.
func File(about string, list []Entry) []byte {
	var kept []Entry
	for _, e := range list {
		if check(e) == nil {
			kept = append(kept, e)
		}
	}
	text, err := Result{File: kept}.text(about)
	if err != nil {
		return []byte("# " + about + "\n") // cannot be: all were checked
	}
	return text
}
