package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"

	"github.com/enr/inner/isolator/verify/attack"
)

// The processes that attacks are made in, a few at a time.

// work has some processes try the attacks, and gives the rows to done in the order of
// the names. A signal ends the suite between two attacks.
func work(names []string, jobs int, stop <-chan os.Signal, done func(row)) (os.Signal, error) {
	rows := make([]chan row, len(names)) // in the order of the names
	for i := range rows {
		rows[i] = make(chan row, 1)
	}
	next := make(chan int) // taken by whoever is free
	broken := make(chan error, jobs)
	var all sync.WaitGroup
	for range jobs {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := worker(names, next, rows); err != nil {
				broken <- err
			}
		}()
	}
	end := make(chan struct{})
	go hand(len(names), next, end)
	var sig os.Signal
	var err error
	for i := range names {
		select {
		case r := <-rows[i]:
			done(r)
			continue
		case sig = <-stop:
		case err = <-broken:
		}
		break
	}
	close(end)
	all.Wait()
	return sig, err
}

// hand hands out the numbers of the attacks, until the end.
func hand(count int, next chan<- int, end <-chan struct{}) {
	defer close(next)
	for i := range count {
		select {
		case next <- i:
		case <-end:
			return
		}
	}
}

// perProcess is how many attacks one process tries. Each leaves a session keyring
// that the process holds to its end, and a user has 200 keys (keyrings(7)).
const perProcess = 30

// worker has one process after the other try the attacks it is given.
func worker(names []string, next <-chan int, rows []chan row) error {
	for {
		more, err := someAttacks(names, next, rows)
		if err != nil || !more {
			return err
		}
	}
}

// someAttacks is one process. more: the attacks have not come to an end.
func someAttacks(names []string, next <-chan int, rows []chan row) (more bool, err error) {
	cmd := exec.Command("/proc/self/exe", append(slices.Clone(os.Args[1:]), "--rows")...)
	cmd.Args[0], cmd.Stderr = attack.Program, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	answers := json.NewDecoder(out)
	for range perProcess {
		i, ok := <-next
		if more = ok; !ok {
			break
		}
		var r row
		if _, err = io.WriteString(in, names[i]+"\n"); err == nil {
			err = answers.Decode(&r)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", names[i], err)
			break
		}
		rows[i] <- r
	}
	in.Close()
	return more, errors.Join(err, cmd.Wait())
}
