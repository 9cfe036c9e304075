// Command kube-scheduler is the Kubernetes scheduler.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // counts requests of its own client
	_ "k8s.io/component-base/metrics/prometheus/version"  // shows the version as a metric
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"nodeworthy.io/tests/servers/lifetime"
)

func main() {
	lifetime.Bind(func() {})
	os.Exit(cli.Run(app.NewSchedulerCommand()))
}
