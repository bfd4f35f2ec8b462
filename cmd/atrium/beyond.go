package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/sheet/google"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// beyond is what use cases stand on beside stores.
type beyond struct {
	sealer      ports.Sealer // the keyring
	envelope    *seal.Envelope
	credentials ports.CredentialSealer // the envelope
	registries  chats.Registries
	warehouses  connections.Warehouses
	sheets      ports.Sheets
	offers      connections.Offers
	limits      connection.ProbeLimits
}

func newBeyond(ctx context.Context, c configs.Config, ring *seal.Keyring, db *sqlstore.DB, o *orgs) (beyond, func(), error) {
	envelope, err := seal.NewEnvelope(ring, func(fresh []byte) ([]byte, error) { return db.FingerprintKey(ctx, fresh) })
	if err != nil {
		return beyond{}, nil, err
	}
	w, s, closeAll, err := newTenants(c)
	if err != nil {
		return beyond{}, nil, err
	}
	return beyond{sealer: ring, envelope: envelope, credentials: envelope, registries: o.registry, warehouses: w, sheets: s, offers: o.offer, limits: c.Connections.ProbeLimits}, closeAll, nil
}

// children is how many calls to warehouses and sheets run at the same time on a node.
const children = 8

// warehousesFolder is where the SQLite files are that connections may name.
func warehousesFolder(c configs.Config) string { return filepath.Join(c.Data, "warehouses") }

// sheetsFolder is where the spreadsheets are that sources may name.
func sheetsFolder(c configs.Config) string { return filepath.Join(c.Data, "sheets") }

// newTenants reaches what tenants keep elsewhere: every kind of warehouse and all files from children
// of this very program, Google's services from here.
func newTenants(c configs.Config) (connections.Warehouses, ports.Sheets, func(), error) {
	atGoogle := google.Default()
	run, folder, closeAll, err := newChildren(c)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("warehouses and sheets: %w", err)
	}
	all := connections.Warehouses{connection.GoogleSheets: google.NewAccounts(atGoogle)}
	if folder != "" {
		confined := warehouse.NewConfined(run)
		for kind := range warehouses(folder) {
			all[kind] = confined
		}
	}
	return all, sheet.NewRouter(sheet.NewConfined(run, sheet.DefaultLimits().Total), google.New(atGoogle)), closeAll, nil
}

// newChildren returns what has children do jobs, and the folder of warehouses as they know it. Where
// the system cannot confine them there are none, and no folder: the rest of Atrium needs none.
func newChildren(c configs.Config) (ports.Confined, string, func(), error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", nil, err
	}
	var folders []string // absolute, for children run elsewhere
	for _, folder := range []string{warehousesFolder(c), sheetsFolder(c)} {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return nil, "", nil, err
		}
		folders = append(folders, absolute)
	}
	run, err := confine.New(confine.DefaultLimits(), children, program, "probe-worker", folders[0], folders[1])
	if errors.Is(err, errors.ErrUnsupported) {
		nothing := func(context.Context, string, time.Duration, any, any) error { return ports.ErrUnavailable }
		return nothing, "", func() {}, nil
	}
	if err != nil {
		return nil, "", nil, err
	}
	return run.Run, folders[0], func() { _ = run.Close() }, nil
}

// offer is what an org lets its workspaces connect to, by the present configuration.
func (o *orgs) offer(id identity.OrgID) connections.Offer {
	org, ok := o.present.Load().ByID(id)
	if !ok {
		return connections.Offer{}
	}
	out := connections.Offer{Egress: org.Egress}
	for _, kind := range org.ConnectionKinds {
		out.Kinds = append(out.Kinds, connection.Kind(kind))
	}
	return out
}
