package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// throughput sends a big file to the terminal.
func (b *bench) throughput() {
	const size = 64 << 20
	line := strings.Repeat("0123456789abcdef", 6) + "\n"
	writeFiles(b.app, map[string]string{"big": strings.Repeat(line, size/len(line))})
	file := filepath.Join(b.app, "big")
	whole := func(dir string, args []string) {
		if n := b.onTerminal(dir, args, nil); n < size*99/100 {
			fail("%s showed %d bytes of %d", args[0], n, size)
		}
	}
	s := b.turns(1, whole, b.app, []string{b.inner, "run", "-p", "show", "--", file}, []string{"script", "-qec", "cat " + file, "/dev/null"}, []string{"cat", file})
	mb := func(s series) string { return fmt.Sprintf("%.0f MB/s", size/median(s)/1e6) }
	b.add(row{"bytes through the box's terminal", mb(s[0]), "script(1), " + mb(s[1]) + "; plain cat, " + mb(s[2]), times(s[1].over(s[0])), ""})
}

// memory looks at the processes of a box that sleeps on a terminal.
func (b *bench) memory() {
	largest, pss := 0, 0 // KiB
	var parts []string
	look := func(pid int) (asleep bool) {
		largest, pss, parts = 0, 0, nil
		for _, p := range family(pid) {
			name := processName(p)
			if name == "sleep" {
				asleep = true
				continue
			}
			peak := field(p, "status", "VmHWM:")
			largest, pss = max(largest, peak), pss+field(p, "smaps_rollup", "Pss:")
			parts = append(parts, fmt.Sprintf("%s %.1f", name, float64(peak)/1024))
		}
		return asleep
	}
	b.onTerminal(b.app, []string{b.inner, "run", "-p", "nap", "--", "3600"}, func(pid int) {
		for end := time.Now().Add(20 * time.Second); !look(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				fail("the box never slept: %v", parts)
			}
		}
	})
	b.add(row{"peak memory of the largest process of inner while a box runs", fmt.Sprintf("%.1f MiB", float64(largest)/1024), "", "", "≤ 8 MiB"},
		row{"all processes around the program, shared pages counted once", fmt.Sprintf("%.1f MiB", float64(pss)/1024), "peaks in MiB: " + strings.Join(parts, ", "), "", ""})
}

// family is a process and everything below it.
func family(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		data, _ := os.ReadFile(l) // it may be gone by now
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, family(child)...)
			}
		}
	}
	return all
}

func processName(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(data), "\x00")
	switch {
	case len(args) > 1 && args[1] == "__box":
		return "inner inside"
	case strings.HasSuffix(args[0], "/inner"):
		return "inner outside"
	}
	return filepath.Base(args[0])
}

// field reads a number of a file of /proc/PID; 0 when it is gone.
func field(pid int, file, key string) int {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if rest, ok := strings.CutPrefix(sc.Text(), key); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
