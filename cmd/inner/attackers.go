package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/enr/inner/profile"
)

// The processes that attacks are made in, a few at a time.

// attackers has some processes of inner try the attacks, and gives the rows to
// done in the order of the names. A signal ends the suite between two attacks.
func attackers(names []string, jobs int, p *profile.Profile, f verifyFlags, stop <-chan os.Signal, done func(attackRow)) (os.Signal, error) {
	rows := make([]chan attackRow, len(names)) // in the order of the names
	for i := range rows {
		rows[i] = make(chan attackRow, 1)
	}
	next := make(chan int) // taken by whoever is free
	broken := make(chan error, jobs)
	var all sync.WaitGroup
	for range jobs {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := attacker(names, next, rows, p, f); err != nil {
				broken <- err
			}
		}()
	}
	end := make(chan struct{})
	go func() {
		defer close(next)
		for i := range names {
			select {
			case next <- i:
			case <-end:
				return
			}
		}
	}()
	var sig os.Signal
	var err error
	for i := range names {
		select {
		case row := <-rows[i]:
			done(row)
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

// perProcess is how many attacks one process tries. Each leaves a session keyring
// that the process holds to its end, and a user has 200 keys (keyrings(7)).
const perProcess = 30

// attacker has one process after the other try the attacks it is given.
func attacker(names []string, next <-chan int, rows []chan attackRow, p *profile.Profile, f verifyFlags) error {
	for {
		more, err := someAttacks(names, next, rows, p, f)
		if err != nil || !more {
			return err
		}
	}
}

// someAttacks is one process. more: the attacks have not come to an end.
func someAttacks(names []string, next <-chan int, rows []chan attackRow, p *profile.Profile, f verifyFlags) (more bool, err error) {
	cmd := exec.Command("/proc/self/exe", "verify", "--attack", "--rows", "-p", cmp.Or(f.profile, p.Name))
	cmd.Args[0], cmd.Stderr = "inner", os.Stderr
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
		var row attackRow
		if _, err = io.WriteString(in, names[i]+"\n"); err == nil {
			err = answers.Decode(&row)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", names[i], err)
			break
		}
		rows[i] <- row
	}
	in.Close()
	return more, errors.Join(err, cmd.Wait())
}
