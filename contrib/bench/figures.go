package main

import (
	"fmt"
	"slices"
	"strings"
)

// versionOf is the first word that starts with a digit.
func versionOf(text string) string {
	for _, word := range strings.Fields(text) {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.SplitN(word, "(", 2)[0]
		}
	}
	return "?"
}

// series are the medians of one command, one for each round, in seconds.
type series []float64

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return s[len(s)/2]
}

// over is the median of the rounds' ratios.
func (s series) over(other series) float64 {
	var r []float64
	for i := range min(len(s), len(other)) {
		if other[i] > 0 {
			r = append(r, s[i]/other[i])
		}
	}
	return median(r)
}

// less is the median of the rounds' differences.
func (s series) less(other series) float64 {
	var d []float64
	for i := range min(len(s), len(other)) {
		d = append(d, s[i]-other[i])
	}
	return median(d)
}

func ms(seconds float64) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

// more is what one series takes beyond another, and how many times as long it is.
func more(s, other series) string {
	return fmt.Sprintf("%+.2f ms, %s", 1000*s.less(other), times(s.over(other)))
}

func us(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }

func times(ratio float64) string {
	if ratio >= 20 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.2f×", ratio)
}
