//go:build race

package shims

const underRace = true
