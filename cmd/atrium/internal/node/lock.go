package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/atrium-hq/atrium/configs"
)

// lockSuffix is added to a SQLite database's path to name its lock file. The file holds the process ID of the server
// and, on a second line, the address of the API (ADR 161).
const lockSuffix = ".lock"

// lockDatabase reserves a SQLite database for one server, until unlock is called or the process ends: presences would
// be different on each of two servers. Commands need no lock. On PostgreSQL it does nothing. Other processes then get
// addr from ServerAddr.
func lockDatabase(c configs.Config, addr string) (unlock func(), err error) {
	path := c.Database.File()
	if path == "" {
		return func() {}, nil
	}
	if filepath.Dir(path) == filepath.Clean(c.Data) {
		if err := os.MkdirAll(c.Data, 0o700); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	file, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return func() {}, nil // the database cannot be opened either, and that error says more
	}
	if err != nil {
		return nil, fmt.Errorf("database: lock file: %w", err)
	}
	unlock = func() { _ = file.Close() } // which ends the lock; the file stays, since another server may have opened it
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = inUse(path, file)
		unlock()
		return nil, err
	case err != nil:
		unlock()
		return nil, fmt.Errorf("database: lock file %s: %w", file.Name(), err)
	}
	if err = file.Truncate(0); err == nil {
		_, err = fmt.Fprintf(file, "%d\n%s\n", os.Getpid(), addr)
	}
	if err != nil {
		unlock()
		return nil, fmt.Errorf("database: lock file: %w", err)
	}
	return func() {
		_ = file.Truncate(0) // it runs no longer; after SIGKILL the process ID says so
		_ = file.Close()
	}, nil
}

// ServerAddr returns the host and the port of the server that uses a SQLite database of this machine, such as
// 127.0.0.1:9000: server.addr with the port that was opened. It is empty if no server runs or its address is not known.
func ServerAddr(c configs.Config) string {
	path := c.Database.File()
	if path == "" {
		return ""
	}
	text, err := os.ReadFile(path + lockSuffix)
	if err != nil {
		return ""
	}
	owner, addr, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	pid, err := strconv.Atoi(owner)
	if err != nil || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // the file stays when its server has ended
		return ""
	}
	return addr
}

// inUse returns the error for a database that another server has locked.
func inUse(path string, lock *os.File) error {
	owner := "another atrium serve"
	text := make([]byte, 300)
	n, _ := lock.ReadAt(text, 0)
	first, addr, _ := strings.Cut(strings.TrimSpace(string(text[:n])), "\n")
	if pid, err := strconv.Atoi(first); err == nil && addr != "" {
		owner += fmt.Sprintf(" (process %d at %s)", pid, addr)
	}
	return fmt.Errorf("%s is in use by %s: stop it first; several servers need PostgreSQL", path, owner)
}
