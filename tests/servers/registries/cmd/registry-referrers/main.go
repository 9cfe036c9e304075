// Command registry-referrers is an OCI registry in memory that has the referrers API.
package main

import (
	"log"
	"net/http"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"

	"nodeworthy.io/tests/servers/lifetime"
	"nodeworthy.io/tests/servers/registries/internal/loopback"
)

func main() {
	lifetime.Bind(func() {})
	log.Fatal(loopback.Serve(func(string) (http.Handler, error) {
		return ociserver.New(ocimem.New(), nil), nil
	}))
}
