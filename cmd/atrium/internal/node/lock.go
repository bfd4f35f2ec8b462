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

// lockSuffix is added to the path of a SQLite database to name its lock file, which holds the process ID of its server.
const lockSuffix = ".lock"

// lockDatabase reserves a SQLite database for one server, until unlock is called or the process ends: presences would
// be different on each of two servers. Commands need no lock. On PostgreSQL it does nothing.
func lockDatabase(c configs.Config) (unlock func(), err error) {
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
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		unlock()
		return nil, fmt.Errorf("database: lock file: %w", err)
	}
	return unlock, nil
}

// inUse returns the error for a database that another server has locked.
func inUse(path string, lock *os.File) error {
	owner := "another atrium serve"
	text := make([]byte, 20)
	if n, _ := lock.ReadAt(text, 0); n > 0 {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
			owner += fmt.Sprintf(" (process %d)", pid)
		}
	}
	return fmt.Errorf("%s is in use by %s: stop it first; several servers need PostgreSQL", path, owner)
}
