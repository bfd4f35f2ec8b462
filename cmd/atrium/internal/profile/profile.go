// Package profile stores the servers that the command line calls, with the API key of each, in the user's configuration
// folder.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Profile is a server and a credential for it.
type Profile struct {
	URL       string `json:"url"`
	Key       string `json:"key"`
	Workspace string `json:"workspace,omitempty"`
}

// Profiles are all user profiles. Current is the name of the one that commands use by default.
type Profiles struct {
	Current string             `json:"current"`
	All     map[string]Profile `json:"profiles"`

	path string
}

// ErrNone means that no profile has the name.
var ErrNone = errors.New("there is no such profile")

// Open reads the profiles of the user whose environment is given. A file that others can read is refused, because it
// contains keys.
func Open(environ []string) (*Profiles, error) {
	folder, err := configFolder(environ)
	if err != nil {
		return nil, err
	}
	p := &Profiles{All: map[string]Profile{}, path: filepath.Join(folder, "atrium", "profiles.json")}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read %s, which contains API keys: run chmod 600 on it", p.path)
	}
	text, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", p.path, err)
	}
	return p, nil
}

// FromEnvironment returns the server and the key in ATRIUM_URL and ATRIUM_KEY, as the clients have them; zero if
// neither is set.
func FromEnvironment(environ []string) Profile {
	values := parse(environ)
	return Profile{URL: values["ATRIUM_URL"], Key: strings.TrimSpace(values["ATRIUM_KEY"])}
}

func parse(environ []string) map[string]string {
	values := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return values
}

// configFolder is $XDG_CONFIG_HOME, or .config in the home folder.
func configFolder(environ []string) (string, error) {
	values := parse(environ)
	if folder := values["XDG_CONFIG_HOME"]; filepath.IsAbs(folder) {
		return folder, nil
	}
	if home := values["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, ".config"), nil
	}
	return "", errors.New("neither HOME nor XDG_CONFIG_HOME names a folder for the API key")
}

// Path is the file of the profiles.
func (p *Profiles) Path() string { return p.path }

// Get returns the profile with a name, or the current one if name is empty. It returns ErrNone if not found.
func (p *Profiles) Get(name string) (Profile, error) {
	if name == "" {
		name = p.Current
	}
	found, ok := p.All[name]
	if !ok {
		return found, ErrNone
	}
	return found, nil
}

// Set adds or replaces a profile, and makes it the current one.
func (p *Profiles) Set(name string, profile Profile) {
	p.All[name] = profile
	p.Current = name
}

// Remove removes a profile. It returns ErrNone if not found.
func (p *Profiles) Remove(name string) error {
	if _, ok := p.All[name]; !ok {
		return ErrNone
	}
	delete(p.All, name)
	if p.Current == name {
		p.Current = ""
	}
	return nil
}

// Save writes the profiles to a file that only the user can read. An interrupted write leaves the old file.
func (p *Profiles) Save() error {
	folder := filepath.Dir(p.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".profiles-*") // which has the mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), p.path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
