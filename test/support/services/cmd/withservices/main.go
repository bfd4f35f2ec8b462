// Command withservices runs a command with the servers that tests need, and stops them when it
// ends:
//
//	go run ./test/support/services/cmd/withservices -- go test ./...
//
// The exit code is the command's, and signals reach it and what it has started, of which nothing outlives it.
// A server that the environment already names is used as it is.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/atrium-hq/atrium/test/support/services"
)

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: the command's own, 128 and the signal's number if a signal ended
// it, or 2 if it could not be run.
func run(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withservices -- command [argument …]")
		return 2
	}
	// From the start: a signal that arrives while the server starts must not leave it behind
	// or be lost.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)

	command := exec.Command(args[0], args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = os.Environ()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // of all processes that it starts
	if os.Getenv(services.PostgresURL) == "" {
		server, err := services.StartPostgres()
		if err != nil {
			fmt.Fprintln(os.Stderr, "withservices:", err)
			return 2
		}
		defer server.Stop()
		command.Env = append(command.Env, services.PostgresURL+"="+server.URL)
	}
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "withservices:", err)
		return 2
	}
	all := -command.Process.Pid
	defer func() { _ = syscall.Kill(all, syscall.SIGKILL) }() // what a test that was stopped has left
	endedErrs := make(chan error, 1)
	go func() { endedErrs <- command.Wait() }()
	for {
		select {
		case s := <-signals:
			if s, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(all, s) // they may have ended just now
			}
		case err := <-endedErrs:
			return code(err)
		}
	}
}

func code(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintln(os.Stderr, "withservices:", err)
		return 2
	case exit.ExitCode() >= 0:
		return exit.ExitCode()
	default:
		status, _ := exit.Sys().(syscall.WaitStatus)
		return 128 + int(status.Signal())
	}
}
