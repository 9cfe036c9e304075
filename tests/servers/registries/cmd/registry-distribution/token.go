package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	registrytoken "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	issuer  = "test token server"
	service = "test registry"
	keyID   = "test key"
	// lifetimeOfTokens is the least that the specification lets a client expect (section "Token response fields" of
	// https://distribution.github.io/distribution/spec/auth/token/).
	lifetimeOfTokens = 60 * time.Second
)

// tokenServer answers GET /token as https://distribution.github.io/distribution/spec/auth/token/ describes: the user gets
// what was asked for, a wrong password 401, and nobody in particular the right to pull if the server was told so.
type tokenServer struct {
	opts   options
	signer jose.Signer
}

// tokenAuth makes a key, a server that signs with it and the registry's settings that trust it.
func tokenAuth(opts options, files, address string) (http.Handler, configuration.Auth, error) {
	// 2048 bits: the smallest size that crypto/rsa and clients take without complaint, and the fastest to make.
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a key: %w", err)
	}
	path := filepath.Join(files, "jwks.json")
	if err := writeTrustedKey(path, key); err != nil {
		return nil, nil, err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID}},
		(&jose.SignerOptions{}).WithType("JWT"),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot sign with the key: %w", err)
	}
	auth := configuration.Auth{"token": {
		"realm": "http://" + address + "/token", "service": service, "issuer": issuer, "jwks": path,
	}}
	return &tokenServer{opts, signer}, auth, nil
}

func writeTrustedKey(path string, key *rsa.PrivateKey) error {
	public := jose.JSONWebKey{Key: key.Public(), KeyID: keyID, Algorithm: string(jose.RS256), Use: "sig"}
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	if err != nil {
		return fmt.Errorf("cannot write the public key as JSON: %w", err)
	}
	return os.WriteFile(path, text, 0o600)
}

func (server *tokenServer) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	subject, isKnown := server.authenticate(request)
	if !isKnown {
		writer.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", issuer))
		http.Error(writer, `{"errors":[{"code":"UNAUTHORIZED","message":"wrong or no credentials"}]}`, http.StatusUnauthorized)
		return
	}
	query := request.URL.Query()
	if query.Get("service") != service {
		http.Error(writer, `{"errors":[{"code":"DENIED","message":"tokens are for another service"}]}`, http.StatusBadRequest)
		return
	}
	raw, err := server.sign(subject, parseScopes(query["scope"], subject == ""))
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	// A write error means that the client has gone; nobody is left to be told.
	_ = json.NewEncoder(writer).Encode(map[string]any{"token": raw, "expires_in": int(lifetimeOfTokens.Seconds())})
}

// authenticate says who asks ("" is nobody in particular) and whether they may have a token at all.
func (server *tokenServer) authenticate(request *http.Request) (string, bool) {
	username, password, given := request.BasicAuth()
	if !given {
		return "", server.opts.anonymousPull
	}
	sameUser := subtle.ConstantTimeCompare([]byte(username), []byte(server.opts.username))
	samePassword := subtle.ConstantTimeCompare([]byte(password), []byte(server.opts.password))
	return username, sameUser&samePassword == 1
}

func (server *tokenServer) sign(subject string, access []*registrytoken.ResourceActions) (string, error) {
	now := time.Now()
	return jwt.Signed(server.signer).Claims(registrytoken.ClaimSet{
		Issuer: issuer, Subject: subject, Audience: registrytoken.AudienceList{service}, JWTID: rand.Text(),
		IssuedAt: now.Unix(), NotBefore: now.Unix(), Expiration: now.Add(lifetimeOfTokens).Unix(), Access: access,
	}).Serialize()
}

// parseScopes reads `repository:library/app:pull,push`, several in one parameter with spaces between or in several
// parameters (https://distribution.github.io/distribution/spec/auth/scope/). A name may hold a colon (HOST:PORT/app);
// what is no scope is not granted.
func parseScopes(parameters []string, pullOnly bool) []*registrytoken.ResourceActions {
	access := []*registrytoken.ResourceActions{}
	for _, scope := range strings.Fields(strings.Join(parameters, " ")) {
		first, last := strings.Index(scope, ":"), strings.LastIndex(scope, ":")
		if first == last {
			continue
		}
		actions := strings.Split(scope[last+1:], ",")
		if pullOnly {
			actions = slices.DeleteFunc(actions, func(action string) bool { return action != "pull" })
		}
		access = append(access, &registrytoken.ResourceActions{Type: scope[:first], Name: scope[first+1 : last], Actions: actions})
	}
	return access
}
