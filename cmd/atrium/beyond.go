package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/application/payments"
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
	offers      connections.Offers
	limits      connection.ProbeLimits
	gateways    *gateways
	terms       payments.TermsOf // the gateways'
}

func newBeyond(ctx context.Context, c configs.Config, ring *seal.Keyring, db *sqlstore.DB, o *orgs) (beyond, func(), error) {
	envelope, err := seal.NewEnvelope(ring, func(fresh []byte) ([]byte, error) { return db.FingerprintKey(ctx, fresh) })
	if err != nil {
		return beyond{}, nil, err
	}
	g, err := newGateways(ctx, c, db, envelope, o)
	if err != nil {
		return beyond{}, nil, err
	}
	w, closeAll, err := newWarehouses(c)
	if err != nil {
		return beyond{}, nil, err
	}
	return beyond{gateways: g, terms: g.terms, sealer: ring, envelope: envelope, credentials: envelope, registries: o.registry, warehouses: w, offers: o.offer, limits: c.Connections.ProbeLimits}, closeAll, nil
}

// children is how many calls to warehouses run at the same time on a node.
const children = 8

// warehousesFolder is where the SQLite files are that connections may name.
func warehousesFolder(c configs.Config) string { return filepath.Join(c.Data, "warehouses") }

// newWarehouses reaches every kind of warehouse from children of this very program.
func newWarehouses(c configs.Config) (connections.Warehouses, func(), error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("warehouses: %w", err)
	}
	folder, err := filepath.Abs(warehousesFolder(c)) // children run elsewhere
	if err != nil {
		return nil, nil, fmt.Errorf("warehouses: %w", err)
	}
	run, err := confine.New(confine.DefaultLimits(), children, program, "probe-worker", folder)
	if errors.Is(err, errors.ErrUnsupported) { // then there are none; the rest of Atrium needs no children
		return nil, func() {}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("warehouses: %w", err)
	}
	confined, all := warehouse.NewConfined(run.Run), connections.Warehouses{}
	for kind := range warehouses(folder) {
		all[kind] = confined
	}
	return all, func() { _ = run.Close() }, nil
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
