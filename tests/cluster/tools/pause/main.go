// Pause keeps a pod's namespaces alive: it waits for a signal to end and collects processes that lost their parent.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func collect() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid < 1 {
			return
		}
	}
}

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for {
		if <-signals != syscall.SIGCHLD {
			os.Exit(0)
		}
		collect()
	}
}
