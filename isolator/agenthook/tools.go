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
	args    map[string]kind // of those that are not known from their looks
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
// however the name is spelled: python_code and runScript, and code_snippet, as what follows says only that it is a text.
func runs(key string) bool {
	name := strings.TrimRight(key, "0123456789_-. ")
	for _, text := range []string{"line", "lines", "text", "string", "body", "content", "contents", "snippet", "block", "input", "list"} {
		if rest, ok := withoutWord(name, text); ok && rest != "" {
			return runs(rest)
		}
	}
	for _, what := range []string{
		"script", "scripts", "shell", "argv", "code", "exec", "executable", "bash", "sh", "python", "javascript", "program", "source", "expression", "eval",
	} {
		if _, ok := withoutWord(name, what); ok {
			return true
		}
	}
	name = strings.ToLower(name)
	return name == "run" || slices.ContainsFunc([]string{"command", "commands", "cmd", "cmds", "commandline", "cmdline"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// withoutWord removes the last word of a name, if it is that one. A word begins after what is no letter, or with a capital.
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

// tools returns the known tools of an agent. All others are judged by what their arguments look
// like, as if they read and wrote.
func tools(agent string) map[string]tool {
	switch agent {
	case "claude":
		return claudeTools()
	case "codex":
		return codexTools()
	case "gemini":
		return geminiTools()
	}
	return opencodeTools()
}

func texts(keys ...string) map[string]kind {
	m := map[string]kind{}
	for _, k := range keys {
		m[k] = free
	}
	return m
}

func claudeTools() map[string]tool {
	return map[string]tool{
		"Bash":            {command: "command"},
		"BashOutput":      {use: reads, args: texts("filter")},
		"KillShell":       {use: reads},
		"TaskOutput":      {use: reads},
		"TaskStop":        {use: reads},
		"Read":            {use: reads, args: map[string]kind{"file_path": path}},
		"Write":           {use: writes, args: map[string]kind{"file_path": path}},
		"Edit":            {use: writes, args: map[string]kind{"file_path": path}},
		"MultiEdit":       {use: writes, args: map[string]kind{"file_path": path}},
		"NotebookEdit":    {use: writes, args: map[string]kind{"notebook_path": path, "new_source": free}},
		"LS":              {use: reads, args: map[string]kind{"path": path}},
		"Glob":            {use: tree, args: map[string]kind{"path": path, "pattern": glob}, here: true, only: "pattern"},
		"Grep":            {use: tree, args: map[string]kind{"path": path, "pattern": free, "glob": glob, "type": free}, here: true, only: "glob"},
		"WebFetch":        {use: reads, args: map[string]kind{"url": link}},
		"WebSearch":       {use: reads},
		"TodoWrite":       {use: reads, args: texts("activeForm")},
		"TaskCreate":      {use: reads, args: texts("subject", "activeForm")},
		"TaskUpdate":      {use: reads, args: texts("subject", "activeForm")},
		"Task":            {use: reads},
		"Agent":           {use: reads},
		"ExitPlanMode":    {use: reads},
		"AskUserQuestion": {use: reads, args: texts("header", "label")},
		"Skill":           {use: reads, args: texts("args")},
		"SlashCommand":    {use: reads, args: texts("command")},
		"ToolSearch":      {use: reads},
	}
}

func codexTools() map[string]tool {
	return map[string]tool{
		"Bash":          {command: "command"}, // what its hooks call the shell
		"shell":         {command: "command"},
		"local_shell":   {command: "command"},
		"shell_command": {command: "command"},
		"exec_command":  {command: "cmd"},
		"write_stdin":   {use: reads, args: texts("chars")},
		"apply_patch":   {patch: "command"},
		"update_plan":   {use: reads, args: texts("step")},
		"read_file":     {use: reads, args: map[string]kind{"file_path": path}},
		"list_dir":      {use: tree, args: map[string]kind{"dir_path": path}, here: true},
		"grep_files":    {use: tree, args: map[string]kind{"path": path, "pattern": free, "include": glob}, here: true, only: "include"},
		"view_image":    {use: reads, args: map[string]kind{"path": path}},
	}
}

func geminiTools() map[string]tool {
	return map[string]tool{
		"run_shell_command":   {command: "command"},
		"read_file":           {use: reads, args: map[string]kind{"file_path": path, "absolute_path": path}},
		"write_file":          {use: writes, args: map[string]kind{"file_path": path}},
		"replace":             {use: writes, args: map[string]kind{"file_path": path, "instruction": free}},
		"list_directory":      {use: reads, args: map[string]kind{"path": path, "dir_path": path, "ignore": glob}, here: true},
		"glob":                {use: tree, args: map[string]kind{"path": path, "dir_path": path, "pattern": glob}, here: true, only: "pattern"},
		"search_file_content": {use: tree, args: map[string]kind{"path": path, "dir_path": path, "pattern": free, "include": glob}, here: true},
		"grep_search":         {use: tree, args: map[string]kind{"path": path, "dir_path": path, "pattern": free, "include": glob}, here: true},
		"read_many_files":     {use: tree, args: map[string]kind{"paths": glob, "include": glob, "exclude": glob}},
		"web_fetch":           {use: reads, args: map[string]kind{"prompt": links, "url": link}},
		"google_web_search":   {use: reads},
		"write_todos":         {use: reads},
		"save_memory":         {use: reads, args: texts("fact")},
	}
}

func opencodeTools() map[string]tool {
	return map[string]tool{
		"bash":        {command: "command"},
		"read":        {use: reads, args: map[string]kind{"filePath": path}},
		"write":       {use: writes, args: map[string]kind{"filePath": path}},
		"edit":        {use: writes, args: map[string]kind{"filePath": path}},
		"multiedit":   {use: writes, args: map[string]kind{"filePath": path}},
		"apply_patch": {patch: "patchText"},
		"patch":       {patch: "patchText"},
		"list":        {use: tree, args: map[string]kind{"path": path, "ignore": glob}, here: true},
		"glob":        {use: tree, args: map[string]kind{"path": path, "pattern": glob}, here: true, only: "pattern"},
		"grep":        {use: tree, args: map[string]kind{"path": path, "pattern": free, "include": glob}, here: true, only: "include"},
		"webfetch":    {use: reads, args: map[string]kind{"url": link}},
		"websearch":   {use: reads},
		"todowrite":   {use: reads},
		"todoread":    {use: reads},
		"task":        {use: reads},
		"question":    {use: reads, args: texts("header", "label")},
		"skill":       {use: reads},
	}
}
