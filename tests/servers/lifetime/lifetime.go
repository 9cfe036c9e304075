// Package lifetime ends a test server together with the test that started it.
//
// A test run can be killed at any moment; a server that outlived it would hold its port and memory for ever. So every
// main calls Bind first, also those that run somebody else's server (which may never return).
package lifetime

import (
	"io"
	"os"
	"time"
)

// parentCheck is how often a server looks whether its parent is still there. It only matters when something else holds
// the other end of standard input open (a fork of the test run); the normal way to stop is closed standard input.
const parentCheck = 250 * time.Millisecond

// parent is who started this process. It is read before main begins, so before anything is announced: a parent that ends
// as soon as it has the address would otherwise be gone, and its heir be taken for it. One that ends earlier still leaves
// nobody to read the address, and writing that ends the process. (PR_SET_PDEATHSIG is no way: Linux sends that signal when
// the parent's thread ends, and a test may start a server from a thread of its own.)
var parent = os.Getppid()

// Bind ends this process with status 0, after cleanup, as soon as standard input is closed or the parent is gone.
func Bind(cleanup func()) {
	ended := make(chan struct{}, 2)
	go waitForClosedInput(ended)
	go waitForLostParent(ended)
	go func() {
		<-ended
		cleanup()
		os.Exit(0)
	}()
}

func waitForClosedInput(ended chan<- struct{}) {
	// Whatever ends the copy, an error too, means that nobody can tell us to stop any more.
	_, _ = io.Copy(io.Discard, os.Stdin)
	ended <- struct{}{}
}

func waitForLostParent(ended chan<- struct{}) {
	for os.Getppid() == parent {
		time.Sleep(parentCheck)
	}
	ended <- struct{}{}
}
