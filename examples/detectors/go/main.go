// Command custom-avx512 tells whether this node has AVX-512: feature avx512, label
// feature.node.kubernetes.io/cpu-avx512. Standard output holds facts and nothing else; what people may want to read goes
// to standard error. Build it with CGO_ENABLED=0, so that it runs in any container.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Detector is one kind of facts about a node.
type Detector interface {
	Name() string
	Discover(ctx context.Context) (map[string]string, error)
}

type avx512 struct{ cpuinfo string }

func (avx512) Name() string { return "custom-avx512" }

func (d avx512) Discover(context.Context) (map[string]string, error) {
	text, err := os.ReadFile(d.cpuinfo)
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		name, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "flags" {
			continue
		}
		if slices.Contains(strings.Fields(flags), "avx512f") {
			return map[string]string{"avx512": "true"}, nil
		}
		return nil, nil
	}
	return nil, fmt.Errorf("%s has no line of flags", d.cpuinfo)
}

func main() {
	path := os.Getenv("CPUINFO")
	if path == "" {
		path = "/proc/cpuinfo"
	}
	var detector Detector = avx512{path}
	features, err := detector.Discover(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "discovery failed: %v\n", err)
		os.Exit(1)
	}
	// CUSTOM_TALKATIVE=true shows what happens to sentences on standard output: each is a fault in the node's health.
	var people io.Writer = os.Stderr
	if os.Getenv("CUSTOM_TALKATIVE") == "true" {
		people = os.Stdout
	}
	if len(features) == 0 {
		fmt.Fprintln(people, "[custom-detector] AVX-512 NOT supported")
	} else {
		fmt.Fprintln(people, "[custom-detector] AVX-512 detected on this node")
	}
	for name, value := range features {
		fmt.Fprintf(people, "Feature: %s = %s\n", name, value)
		fmt.Printf("# +no-label\n%s=%s\n# +no-feature\ncpu-%s=%s\n", name, value, name, value)
	}
	if strings.EqualFold(os.Getenv("NFD_CUSTOM_TEST"), "true") {
		fmt.Fprintln(people, "Custom env var test passed")
	}
}
