package integration

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// metricsName is the DNS name for which manifests/options/certificates asks for a certificate.
const metricsName = "podsequence-metrics.podsequence-system.svc"

func TestMetricsAreServedWithTheCertificateThatIsGiven(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := electingCluster(t)
	for program, port := range map[string]string{
		controlplane.PodSequenceScheduler: "--secure-port", controlplane.PodSequenceController: "--metrics-bind-address",
	} {
		t.Run(program, func(t *testing.T) {
			directory := t.TempDir()
			certFile, keyFile := filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
			first := writeCertificate(t, certFile, keyFile)
			var url string
			env.RunInstance(t, program, func(args []string) []string {
				args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--tls-") })
				for _, arg := range args {
					if name, value, _ := strings.Cut(arg, "="); name == port {
						url = "https://127.0.0.1:" + strings.TrimPrefix(value, "127.0.0.1:") + "/metrics"
					}
				}
				return append(args, "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile)
			})
			require.NotEmpty(t, url)
			cluster.Await(t, program+" to serve metrics that can be verified", func() bool {
				return verify(t, url, first) == nil
			})

			second := writeCertificate(t, certFile, keyFile)
			cluster.Await(t, program+" to serve the certificate that is there now", func() bool {
				return verify(t, url, second) == nil
			})
			var unknown x509.UnknownAuthorityError
			assert.ErrorAs(t, verify(t, url, first), &unknown)
		})
	}
}

// writeCertificate writes a new certificate and its key, and returns whom to trust to verify it.
func writeCertificate(t *testing.T, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(metricsName, nil, nil)
	require.NoError(t, err)
	for file, content := range map[string][]byte{certFile: certificate, keyFile: key} {
		require.NoError(t, os.WriteFile(file, content, 0o600))
	}
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(certificate))
	return trusted
}

// verify gets the URL as Prometheus does with the ServiceMonitor of manifests/options/certificates, but for its token: the server must say
// that it knows nobody.
func verify(t *testing.T, url string, trusted *x509.CertPool) error {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: metricsName}, DisableKeepAlives: true,
	}}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	require.NoError(t, response.Body.Close())
	assert.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, response.StatusCode)
	return nil
}
