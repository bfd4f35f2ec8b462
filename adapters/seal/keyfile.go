package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// maxKeyFile is the most bytes read from a key file. A key takes about 200.
const maxKeyFile = 1 << 20

// Create writes a key file with one fresh key, readable only by its owner. It never overwrites a file:
// it returns fs.ErrExist if there is one.
func Create(path string) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return fmt.Errorf("keyring: make a key: %w", err)
	}
	if err := writeNew(path, handle); err != nil {
		return fmt.Errorf("keyring: create key file: %w", err)
	}
	if err := syncFolder(path); err != nil {
		return fmt.Errorf("keyring: create key file %s: %w", path, err)
	}
	return nil
}

// Rotate adds a fresh key, makes it the primary, and rewrites the key file. Data sealed under older
// keys still opens. A crash leaves either the old file or the new one. Rotate returns ErrInline if
// there is no file. Other processes seal under the new key after they reload the file; until then they
// cannot open data that the new key sealed.
func (k *Keyring) Rotate() (KeyInfo, error) {
	if k.file == "" {
		return KeyInfo{}, ErrInline
	}
	id, err := k.rotate()
	if err == nil {
		err = syncFolder(k.file)
	}
	if err != nil {
		return KeyInfo{}, fmt.Errorf("keyring: rotate key file %s: %w", k.file, err)
	}
	return KeyInfo{ID: id, Primary: true, Status: "enabled"}, nil
}

// rotate adds a new key to the file and makes it the one that seals. It returns the key's id.
func (k *Keyring) rotate() (id uint32, err error) {
	// The file's fixed name doubles as the lock. Without it, one of two concurrent rotations would lose
	// its key, and with it all data that the key had sealed.
	next := k.file + ".next"
	lock, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%s exists: another rotation is running, or one was interrupted; if none is running, "+
			"remove that file and try again", next)
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = lock.Close()
		if err != nil {
			_ = os.Remove(next)
		}
	}()

	old, err := readFile(k.file) // rather than memory: another process may have added a key
	if err != nil {
		return 0, err
	}
	manager := keyset.NewManagerFromHandle(old.handle)
	if id, err = manager.Add(aead.AES256GCMKeyTemplate()); err != nil {
		return 0, err
	}
	if err = manager.SetPrimary(id); err != nil {
		return 0, err
	}
	handle, err := manager.Handle()
	if err != nil {
		return 0, err
	}
	fresh, err := newState(handle)
	if err != nil {
		return 0, err
	}
	if err = k.succeededBy(fresh); err != nil {
		return 0, err
	}
	if err = write(lock, handle); err != nil {
		return 0, err
	}
	if err = os.Rename(next, k.file); err != nil {
		return 0, err
	}
	k.state.Store(fresh)
	return id, nil
}

// Reload reads the key file again, after another process rotated it. A file that cannot be read, or does not open what
// this keyring seals, is refused, and the current keys stay. An inline keyset stays as it is.
func (k *Keyring) Reload() error {
	if k.file == "" {
		return nil
	}
	fresh, err := readFile(k.file)
	if err == nil {
		err = k.succeededBy(fresh)
	}
	if err != nil {
		return fmt.Errorf("keyring: reload key file %s: %w", k.file, err)
	}
	k.state.Store(fresh)
	return nil
}

// succeededBy refuses a keyring that does not open what k seals: k's file was replaced by another one.
func (k *Keyring) succeededBy(fresh *state) error {
	check, err := k.Check()
	if err != nil {
		return err
	}
	successor := &Keyring{file: k.file}
	successor.state.Store(fresh)
	return successor.Verify(check)
}

// readFile opens the file before it looks at the mode, so that both are of the same file.
func readFile(path string) (*state, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrNoKeyFile, path)
	}
	if err != nil {
		return nil, fmt.Errorf("keyring: key file: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("keyring: key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("keyring: key file %s is not a file (%s)", path, info.Mode())
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("keyring: key file %s is open to other users (mode %#o): run chmod 600 %s", path,
			info.Mode().Perm(), path)
	}
	s, err := parse(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("keyring: key file %s: %w", path, err)
	}
	return s, nil
}

// parse reads a keyset. Its errors contain no text of Tink, which may quote the input.
func parse(r io.Reader) (*state, error) {
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(r))
	if err != nil {
		return nil, errors.New("it is not a Tink keyset in JSON with an enabled primary key")
	}
	return newState(handle)
}

func writeNew(path string, handle *keyset.Handle) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := write(f, handle); err != nil {
		_ = os.Remove(path)
		return err
	}
	return nil
}

// write writes the keys unencrypted and waits until they are on the disk.
func write(f *os.File, handle *keyset.Handle) error {
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(f)); err != nil {
		return err
	}
	return f.Sync()
}

// syncFolder makes the directory entry of path as durable as its content.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
