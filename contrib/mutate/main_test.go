package main

import "testing"

// The list stays true while the code it names changes: make mutate takes minutes,
// this is part of every run of the tests.
func TestGuards(t *testing.T) {
	guards, err := readGuards("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(guards) == 0 {
		t.Fatal("there are no guards")
	}
}
