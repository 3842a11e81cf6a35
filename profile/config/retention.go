package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/profile/strict"
)

func checkKeep(s strict.Value, problems *strict.Problems) {
	if s.Set {
		if d, err := ParseAge(s.V); err != nil || d < time.Hour {
			problems.Add(s.At, "output.keep", fmt.Sprintf("%q is not a time of at least an hour", s.V), `write it like "30d", "2w" or "12h"`)
		}
	}
}

// ParseAge reads a time such as 30d, 2w or 12h. The empty text is 0.
func ParseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			v, err := strconv.ParseUint(n, 10, 16)
			if err != nil || time.Duration(v) > math.MaxInt64/length {
				return 0, fmt.Errorf("%q is not a number of days or weeks such as 30d", text)
			}
			return time.Duration(v) * length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time such as 30d, 2w or 12h", text)
	}
	return d, nil
}
