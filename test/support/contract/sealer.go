package contract

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Sealer is the suite for ports.Sealer. The adapter's own tests check that old keys still open, because the port has
// no rotation.
func Sealer(t *testing.T, open func(*testing.T) ports.Sealer) {
	plain, purpose := []byte("the warehouse's password"), []byte("org_1/wsp_1/con_1/postgres")
	seal := func(t *testing.T, s ports.Sealer, plain, associatedContent []byte) []byte {
		t.Helper()
		ciphertext, err := s.Seal(plain, associatedContent)
		require.NoError(t, err)
		return ciphertext
	}
	refuse := func(t *testing.T, s ports.Sealer, ciphertext, associatedContent []byte) {
		t.Helper()
		got, err := s.Open(ciphertext, associatedContent)
		if err == nil || got != nil {
			t.Fatalf("Open = %q, %v; want nothing but an error", got, err)
		}
		if bytes.Contains([]byte(err.Error()), plain) {
			t.Errorf("the error tells the content: %v", err)
		}
	}

	for name, tt := range map[string]struct{ plain, associated []byte }{
		"what was sealed opens":                       {plain, purpose},
		"nothing at all can be sealed":                {nil, purpose},
		"a purpose is not needed":                     {plain, nil},
		"any byte can be sealed":                      {[]byte{0, 1, 0xff, 0}, []byte{0}},
		"a mebibyte opens as well as a password does": {bytes.Repeat([]byte("x"), 1<<20), purpose},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			got, err := s.Open(seal(t, s, tt.plain, tt.associated), tt.associated)
			if err != nil || !bytes.Equal(got, tt.plain) {
				t.Fatalf("Open = %d bytes, %v; want the %d bytes that were sealed", len(got), err, len(tt.plain))
			}
		})
	}

	t.Run("the sealed bytes show neither content nor purpose", func(t *testing.T) {
		ciphertext := seal(t, open(t), plain, purpose)
		if bytes.Contains(ciphertext, plain) || bytes.Contains(ciphertext, purpose) {
			t.Fatalf("sealed = %q", ciphertext)
		}
	})

	t.Run("two calls of Seal never return the same bytes", func(t *testing.T) {
		s, seen := open(t), map[string]bool{}
		for range 1000 {
			seen[string(seal(t, s, plain, purpose))] = true
		}
		require.Equal(t, "different answers to 1000 calls", len(seen), 1000)
	})

	t.Run("sealed bytes do not open for another purpose", func(t *testing.T) {
		s := open(t)
		ciphertext := seal(t, s, plain, purpose)
		for _, other := range [][]byte{nil, []byte("org_1/wsp_2/con_1/postgres"), purpose[:len(purpose)-1],
			append(bytes.Clone(purpose), 0)} {
			refuse(t, s, ciphertext, other)
		}
	})

	t.Run("sealed bytes with any bit changed are refused", func(t *testing.T) {
		s := open(t)
		ciphertext := seal(t, s, plain, purpose)
		for i := range ciphertext {
			for bit := range 8 {
				change := bytes.Clone(ciphertext)
				change[i] ^= 1 << bit
				refuse(t, s, change, purpose)
			}
		}
	})

	t.Run("truncated or extended sealed bytes are refused", func(t *testing.T) {
		s := open(t)
		ciphertext := seal(t, s, plain, purpose)
		for i := range ciphertext {
			refuse(t, s, ciphertext[:i], purpose)
		}
		refuse(t, s, append(bytes.Clone(ciphertext), 0), purpose)
	})

	t.Run("bytes that were never sealed are refused", func(t *testing.T) {
		s := open(t)
		for _, ciphertext := range [][]byte{nil, {}, plain, make([]byte, 64)} {
			refuse(t, s, ciphertext, purpose)
		}
	})

	t.Run("another keyring's bytes are refused", func(t *testing.T) {
		refuse(t, open(t), seal(t, open(t), plain, purpose), purpose)
	})

	t.Run("Seal and Open can be called concurrently", func(t *testing.T) {
		s := open(t)
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := range 100 {
					plain, purpose := fmt.Appendf(nil, "content %d of %d", i, worker),
						fmt.Appendf(nil, "worker %d", worker)
					ciphertext, err := s.Seal(plain, purpose)
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := s.Open(ciphertext, purpose); err != nil || !bytes.Equal(got, plain) {
						t.Errorf("Open = %q, %v; want %q", got, err, plain)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// CredentialSealer is the suite for ports.CredentialSealer.
func CredentialSealer(t *testing.T, open func(*testing.T) ports.CredentialSealer) {
	Sealer(t, func(t *testing.T) ports.Sealer { return open(t) })

	content, place := []byte("the warehouse's password"), []byte("con_1")
	t.Run("a fingerprint has 16 digits and depends on content and place only", func(t *testing.T) {
		s := open(t)
		got := s.Fingerprint(content, place)
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(got) || s.Fingerprint(bytes.Clone(content),
			bytes.Clone(place)) != got {
			t.Errorf("fingerprint %q", got)
		}
		for name, other := range map[string]string{
			"other content":    s.Fingerprint([]byte("another password"), place),
			"another place":    s.Fingerprint(content, []byte("con_2")),
			"the border moved": s.Fingerprint(append([]byte("1"), content...), []byte("con_")),
			"another keyring":  open(t).Fingerprint(content, place),
		} {
			if other == got {
				t.Errorf("%s has the same fingerprint", name)
			}
		}
	})
}

// Digester is the suite for ports.Digester. Each call of open uses another keyring.
func Digester(t *testing.T, open func(*testing.T) ports.Digester) {
	d := open(t)
	want := d.Digest("purpose", []byte("one"), []byte("two"))
	t.Run("the same purpose and parts have the same digest", func(t *testing.T) {
		if got := d.Digest("purpose", []byte("one"), []byte("two")); got != want {
			t.Errorf("digests %x and %x", got, want)
		}
	})
	t.Run("another purpose or other parts have another digest", func(t *testing.T) {
		for name, other := range map[string][32]byte{
			"another purpose":  d.Digest("other", []byte("one"), []byte("two")),
			"another part":     d.Digest("purpose", []byte("one"), []byte("three")),
			"the border moved": d.Digest("purpose", []byte("onet"), []byte("wo")),
			"one part":         d.Digest("purpose", []byte("onetwo")),
			"one part more":    d.Digest("purpose", []byte("one"), []byte("two"), nil),
			"another keyring":  open(t).Digest("purpose", []byte("one"), []byte("two")),
			"no key":           sha256.Sum256([]byte("onetwo")),
		} {
			if other == want {
				t.Errorf("%s has the same digest", name)
			}
		}
	})
	t.Run("digests can be computed concurrently", func(t *testing.T) {
		d := open(t)
		var wg sync.WaitGroup
		digests := make([][32]byte, 20)
		for i := range digests {
			wg.Go(func() { digests[i] = d.Digest("purpose") })
		}
		wg.Wait()
		for _, got := range digests {
			if got != digests[0] {
				t.Errorf("digests %x and %x", got, digests[0])
			}
		}
	})
}
