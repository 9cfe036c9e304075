// Command registry-distribution is the CNCF distribution registry, in memory, which has no referrers API.
//
// It is the registry that most people run themselves. With -auth it asks for credentials in one of the two ways that
// registries use: basic, or a token from a token server, which runs here at /token.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // registers the storage
	"github.com/sirupsen/logrus"

	"nodeworthy.io/tests/servers/lifetime"
	"nodeworthy.io/tests/servers/registries/internal/loopback"
)

type options struct {
	auth          string
	username      string
	password      string
	anonymousPull bool
}

func main() {
	opts := parseOptions()
	// The registry reads its users and its trusted keys from files only.
	files, err := os.MkdirTemp("", "registry-distribution-")
	if err != nil {
		log.Fatal(err)
	}
	cleanup := func() { _ = os.RemoveAll(files) }
	lifetime.Bind(cleanup)
	err = loopback.Serve(func(address string) (http.Handler, error) { return newHandler(opts, files, address) })
	cleanup()
	log.Fatal(err)
}

func parseOptions() options {
	var opts options
	flag.StringVar(&opts.auth, "auth", "none", "how clients prove who they are: none, basic or token")
	flag.StringVar(&opts.username, "username", "", "the one user that may do everything (basic and token)")
	flag.StringVar(&opts.password, "password", "", "that user's password")
	flag.BoolVar(&opts.anonymousPull, "anonymous-pull", false, "give everyone a token to pull with, as public registries do")
	flag.Parse()
	return opts
}

func newHandler(opts options, files, address string) (http.Handler, error) {
	switch opts.auth {
	case "none":
		return newRegistry(nil), nil
	case "basic":
		auth, err := basicAuth(opts, files)
		if err != nil {
			return nil, err
		}
		return newRegistry(auth), nil
	case "token":
		tokens, auth, err := tokenAuth(opts, files, address)
		if err != nil {
			return nil, err
		}
		mux := http.NewServeMux()
		mux.Handle("/", newRegistry(auth))
		mux.Handle("GET /token", tokens)
		return mux, nil
	}
	return nil, fmt.Errorf("-auth %q is none of none, basic, token", opts.auth)
}

func newRegistry(auth configuration.Auth) http.Handler {
	logrus.SetLevel(logrus.WarnLevel) // its default tells of every request
	return handlers.NewApp(context.Background(), &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": {}, "delete": {"enabled": true}},
		Auth:    auth,
	})
}
