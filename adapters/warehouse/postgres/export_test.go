package postgres

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// NewRedshiftAtOnePort is NewRedshift for a stand-in, whose API is at the address of the database, and has a
// certificate of the same authority: a child may connect only to the ports of its credential.
func NewRedshiftAtOnePort(guard warehouse.Guard) *warehouse.Sessions {
	return warehouse.NewSessions(guard, func(ctx context.Context, n warehouse.Network, target ports.Target,
		t *warehouse.Trace) (*redshift, error) {
		config, err := warehouse.TLSConfig(target.Credential)
		if err != nil {
			return nil, err
		}
		api := warehouse.RedshiftAPI{Host: target.Credential.Text(connection.FieldHost), Port: target.Credential.Port()}
		if config != nil {
			api.Roots = config.RootCAs
		}
		return openRedshift(ctx, n, target, t, api)
	})
}
