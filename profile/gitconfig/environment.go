package gitconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// maxVariables bounds the settings that are read of variables.
const maxVariables = 1000

// User says where git finds the settings of the system and of the user whose environment this
// is, as far as variables say: files in other places, and settings of their own.
//
// Source: git-config(1), "ENVIRONMENT", and git(1) for GIT_TEMPLATE_DIR, which is the setting
// init.templateDir under another name. GIT_CONFIG_NOSYSTEM is not heeded: the next call of git may
// be without it.
func User(getenv func(string) string) Sources {
	s := Sources{System: getenv("GIT_CONFIG_SYSTEM"), Home: getenv("HOME"), XDG: getenv("XDG_CONFIG_HOME"), Global: getenv("GIT_CONFIG_GLOBAL")}
	count, _ := strconv.Atoi(getenv("GIT_CONFIG_COUNT")) // git refuses anything else
	for i := range min(count, maxVariables) {
		key, value := getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))
		s.Command = append(s.Command, Entry{Key: folded(key), Value: value})
	}
	if dir := getenv("GIT_TEMPLATE_DIR"); dir != "" {
		s.Command = append(s.Command, Entry{Key: "init.templatedir", Value: dir})
	}
	return s
}

// folded returns a key with section and name in lower case.
func folded(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return key
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}
