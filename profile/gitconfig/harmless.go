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
	switch section + "." + name { // whatever stands between them
	case "core.worktree":
		return inside(e.Value)
	case "core.fsmonitor":
		return True(e) || slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(e.Value))
	case "remote.url", "remote.pushurl", "submodule.url":
		return !helperAddress(e.Value)
	case "submodule.update", "remote.update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, e.Value)
	case "init.defaultbranch", "http.extraheader", "http.postbuffer", "http.version":
		return true
	}
	switch section {
	case "core":
		return !runs(e) && slices.Contains(coreNames(), name)
	case "remote":
		return !runs(e) && slices.Contains(remoteNames(), name)
	case "url":
		return !runs(e) && !helperAddress(sub)
	case "diff", "merge":
		return !runs(e) && sub == ""
	case "lfs":
		return !runs(e) && !strings.HasPrefix(strings.ToLower(sub), "customtransfer.")
	}
	return !runs(e) && slices.Contains(plainSections(), section)
}

// runs reports whether git may run the value of a setting: it is a command of a shell, or the name of the
// setting has a word in it that git uses for programs.
func runs(e Entry) bool {
	_, _, name := e.Parts()
	for _, word := range []string{
		"cmd", "command", "hook", "program", "helper", "editor", "pager",
		"textconv", "askpass", "tunnel", "browser", "driver", "daemon", "exec",
		"script", "fsmonitor", "gitproxy", "uploadpack", "receivepack", "vcs",
		"smudge", "clean", "process", "templatedir", "authorsprog",
		"external", "difffilter", "httpd", "agent",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	// A tool that is a path is read as shell code (git-mergetool--lib); "-s X" starts git-merge-X (builtin/merge.c).
	byPath := strings.HasSuffix(name, "tool") || slices.Contains([]string{"twohead", "octopus", "mergeoptions"}, name)
	return strings.HasPrefix(strings.TrimSpace(e.Value), "!") || byPath && strings.Contains(e.Value, "/")
}

// helperAddress reports whether git would start git-remote-NAME for an address
// (gitremote-helpers(7)): NAME::address. The "::" of an IPv6 host comes after a slash or a bracket.
func helperAddress(s string) bool {
	name, _, ok := strings.Cut(s, "::")
	return ok && !strings.ContainsAny(name, "/[") || strings.HasPrefix(s, "-")
}

// plainSections returns the sections of which every setting is harmless that git does not run.
func plainSections() []string {
	return []string{
		"advice", "am", "apply", "author", "blame", "branch", "checkout", "color", "column", "commit",
		"committer", "extensions", "feature", "fetch", "format", "fsck", "gc", "gitflow", "grep", "gui",
		"i18n", "index", "log", "maintenance", "notes", "pack", "pretty", "pull", "push", "rebase",
		"receive", "rerere", "reset", "sparse", "splitindex", "stash", "status", "submodule", "svn",
		"svn-remote", "tag", "transfer", "user", "versionsort", "worktree",
	}
}

func coreNames() []string {
	return []string{
		"abbrev", "autocrlf", "bare", "bigfilethreshold", "checkstat", "commentchar", "commitgraph",
		"compression", "deltabasecachelimit", "eol", "excludesfile", "filemode", "filesreflocktimeout",
		"fscache", "fsync", "fsyncmethod", "fsyncobjectfiles", "hidedotfiles", "ignorecase", "ignorestat",
		"logallrefupdates", "longpaths", "loosecompression", "maxtreedepth", "multipackindex", "notesref",
		"packedgitlimit", "packedgitwindowsize", "packedrefstimeout", "precomposeunicode", "preloadindex",
		"protecthfs", "protectntfs", "quotepath", "repositoryformatversion", "safecrlf", "sharedrepository",
		"sparsecheckout", "sparsecheckoutcone", "splitindex", "symlinks", "trustctime", "untrackedcache",
		"usereplacerefs", "warnambiguousrefs", "whitespace",
	}
}

func remoteNames() []string {
	return []string{
		"fetch", "push", "mirror", "prune", "prunetags", "tagopt", "skipdefaultupdate", "skipfetchall",
		"promisor", "partialclonefilter", "followremotehead", "gh-resolved",
	}
}
