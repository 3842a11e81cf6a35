// Package git finds the repositories of the host that a box works in, and says what is in them. Packages below it share
// them with a box:
//
//	server   the process that serves the git directories of a project to its box
//	share    the file system of one repository, with the policy of what a box may change
//	gate     decides what enters, by way of index and objects
//	clone    a git directory of the box's own, where none can be served
package git
