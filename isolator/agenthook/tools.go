package agenthook

import (
	"slices"
	"strings"
)

// tool describes one known tool of an agent.
type tool struct {
	use     Use
	command string          // the argument that is a command line
	patch   string          // the argument that is a patch of Codex
	args    map[string]kind // of those that are not what ofKnown says
	here    bool            // without an argument that is a path it is about the working folder
	only    string          // the pattern of paths without which it reads everything
}

// kind is what an argument is.
type kind int

const (
	byLooks kind = iota // whether it is a path is told by its looks
	path
	glob  // a pattern of paths
	free  // text
	query // text that may name files to read
	link  // a URL
	links // text whose URLs are fetched
)

// freeText reports whether an argument is only text in every tool.
func freeText(key string) bool {
	switch key {
	case "text", "content", "contents", "prompt", "description", "old_string", "new_string", "oldString", "newString", "query", "message",
		"question", "thought", "thoughts", "reason", "summary", "body", "title", "plan", "explanation", "justification":
		return true
	}
	return false
}

// runs reports whether an unknown tool with that argument would run something outside of the box,
// however the name is spelled: python_code and runScript, and code_snippet, as what follows says only that it
// is a text.
func runs(key string) bool {
	name := strings.TrimRight(key, "0123456789_-. ")
	for _, text := range []string{"line", "lines", "text", "string", "body", "content", "contents", "snippet", "block", "input", "list"} {
		if rest, ok := withoutWord(name, text); ok && rest != "" {
			return runs(rest)
		}
	}
	for _, what := range []string{
		"script", "scripts", "shell", "argv", "code", "exec", "executable", "bash",
		"sh", "python", "javascript", "program", "source", "expression", "eval",
	} {
		if _, ok := withoutWord(name, what); ok {
			return true
		}
	}
	name = strings.ToLower(name)
	return name == "run" || slices.ContainsFunc([]string{
		"command", "commands", "cmd", "cmds",
		"commandline", "cmdline",
	}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// withoutWord removes the last word of a name, if it is that one. A word begins after what is no letter, or
// with a capital.
func withoutWord(name, word string) (rest string, ok bool) {
	at := len(name) - len(word)
	if at < 0 || !strings.EqualFold(name[at:], word) {
		return name, false
	}
	rest = strings.TrimRight(name[:at], "0123456789_-. ")
	return rest, rest == "" || len(rest) < at || 'A' <= name[at] && name[at] <= 'Z'
}

// ofCommands reports whether a tool for commands may have the argument besides its command. Any
// other could say which program runs the command.
func ofCommands(key string) bool {
	switch key {
	case "description", "timeout", "timeout_ms", "timeoutMs", "run_in_background", "is_background", "background", "dangerouslyDisableSandbox", "login", "tty",
		"yield_time_ms", "max_output_tokens", "with_escalated_permissions", "sandbox_permissions", "justification", "prefix_rule", "delay_ms":
		return true
	}
	return folderOfCommand(key)
}

// folderOfCommand reports whether the argument says in which folder a command runs.
func folderOfCommand(key string) bool {
	return key == "workdir" || key == "directory" || key == "dir_path" || key == "cwd"
}

var (
	reads  = Use{Read: true}
	writes = Use{Read: true, Write: true}
	tree   = Use{Read: true, Tree: true}
)

// ofKnown returns what an argument is in each known tool that has one of that name.
func ofKnown(key string) kind {
	switch key {
	case "path", "file_path", "filePath", "absolute_path", "dir_path", "notebook_path":
		return path
	case "glob", "include", "exclude", "ignore", "paths":
		return glob
	case "url":
		return link
	case "pattern", "filter", "type", "subject", "activeForm", "header", "label", "args", "chars", "step", "instruction", "fact", "new_source":
		return free
	}
	return byLooks
}

// tools returns the known tools of an agent. All others are judged by what their arguments look
// like, as if they read and wrote.
func tools(agent string) map[string]tool {
	t := map[string]tool{}
	row := func(like tool, names ...string) {
		for _, name := range names {
			t[name] = like
		}
	}
	command, patch := tool{command: "command"}, tool{patch: "command"}
	read, write, search := tool{use: reads}, tool{use: writes}, tool{use: tree, here: true}
	searchOnly := func(pattern string) tool { return tool{use: tree, here: true, only: pattern} }
	switch agent {
	case "claude":
		row(command, "Bash")
		row(read, "Read", "LS", "BashOutput", "KillShell", "WebFetch", "WebSearch", "Skill", "ToolSearch")
		row(read, "Task", "Agent", "TaskCreate", "TaskUpdate", "TaskOutput", "TaskStop",
			"TodoWrite", "ExitPlanMode", "AskUserQuestion")
		row(tool{use: reads, args: map[string]kind{"command": free}}, "SlashCommand")
		row(write, "Write", "Edit", "MultiEdit", "NotebookEdit")
		row(searchOnly("pattern"), "Glob")
		row(searchOnly("glob"), "Grep")
	case "codex":
		row(command, "Bash", "shell", "local_shell", "shell_command") // "Bash" is what its hooks call the shell
		row(tool{command: "cmd"}, "exec_command")
		row(patch, "apply_patch")
		row(read, "read_file", "view_image", "write_stdin", "update_plan")
		row(search, "list_dir")
		row(searchOnly("include"), "grep_files")
	case "gemini":
		row(command, "run_shell_command")
		row(read, "read_file", "google_web_search", "write_todos", "save_memory")
		row(tool{use: reads, args: map[string]kind{"prompt": links}}, "web_fetch")
		row(write, "write_file", "replace")
		row(tool{use: reads, here: true}, "list_directory")
		row(searchOnly("pattern"), "glob")
		row(search, "search_file_content", "grep_search")
		row(tool{use: tree}, "read_many_files")
	default:
		patch.patch = "patchText"
		row(command, "bash")
		row(patch, "apply_patch", "patch")
		row(read, "read", "webfetch", "websearch", "task", "todowrite", "todoread", "question", "skill")
		row(write, "write", "edit", "multiedit")
		row(search, "list")
		row(searchOnly("pattern"), "glob")
		row(searchOnly("include"), "grep")
	}
	return t
}
