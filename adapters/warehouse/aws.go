package warehouse

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse/aws"
	"github.com/atrium-hq/atrium/domain/connection"
)

// rdsToken returns a token for Amazon RDS that is valid for 15 minutes: a presigned request without its scheme. It is
// made without a request to AWS (Amazon RDS User Guide, "IAM database authentication").
func rdsToken(c connection.Credential, now time.Time) string {
	const lifetime = "900" // seconds, the maximum
	key := awsKeyOf(c, c.Text(connection.FieldAWSRegion))
	host := strings.ToLower(strings.TrimSuffix(c.Text(connection.FieldHost), "."))
	host = net.JoinHostPort(host, strconv.Itoa(int(c.Port())))
	return host + "/?" + key.Presign("rds-db", host, "/", lifetime, url.Values{
		"Action": {"connect"}, "DBUser": {c.Text(connection.FieldUsername)},
	}, aws.Hash(nil), now)
}

func awsKeyOf(c connection.Credential, region string) aws.Key {
	return aws.Key{ID: c.Text(connection.FieldAWSAccessKeyID),
		Secret: c.Secret(connection.FieldAWSSecretAccessKey).Reveal(), Region: region}
}
