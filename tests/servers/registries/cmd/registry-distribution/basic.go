package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // registers the way to authenticate
	"golang.org/x/crypto/bcrypt"
)

// basicAuth writes the file of users and says where it is. The lowest cost of bcrypt is right here: the registry checks
// the password at every request, and the password is a test's.
func basicAuth(opts options, files string) (configuration.Auth, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(opts.password), bcrypt.MinCost)
	if err != nil {
		return nil, fmt.Errorf("cannot hash the password: %w", err)
	}
	path := filepath.Join(files, "htpasswd")
	if err := os.WriteFile(path, fmt.Appendf(nil, "%s:%s\n", opts.username, hash), 0o600); err != nil {
		return nil, err
	}
	return configuration.Auth{"htpasswd": {"realm": "test registry", "path": path}}, nil
}
