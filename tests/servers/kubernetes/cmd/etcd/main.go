// Command etcd is the store of the Kubernetes API server.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"nodeworthy.io/tests/servers/lifetime"
)

func main() {
	lifetime.Bind(func() {})
	etcdmain.Main(os.Args)
}
