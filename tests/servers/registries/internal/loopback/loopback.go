// Package loopback serves HTTP on a free port of 127.0.0.1 and announces the address.
//
// The announcement is the contract with the test run: the first line of standard output is HOST:PORT and nothing else,
// written when connections are already accepted, so that nobody has to poll.
package loopback

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// headerTimeout keeps a client that connects and says nothing from holding a goroutine for the whole run.
const headerTimeout = 10 * time.Second

// Serve listens, makes the handler for the address it got, announces the address and serves until the process ends.
func Serve(makeHandler func(address string) (http.Handler, error)) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen on a free port of 127.0.0.1: %w", err)
	}
	address := listener.Addr().String()
	handler, err := makeHandler(address)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if _, err := fmt.Println(address); err != nil {
		return errors.Join(fmt.Errorf("cannot announce the address: %w", err), listener.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	return server.Serve(listener)
}
