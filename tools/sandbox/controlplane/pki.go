package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Files below layout.pki. The serving certificate is that of every component: they share one host.
const (
	caCertFile            = "ca.crt"
	servingCertFile       = "serving.crt"
	servingKeyFile        = "serving.key"
	etcdClientCertFile    = "etcd-client.crt"
	etcdClientKeyFile     = "etcd-client.key"
	serviceAccountKeyFile = "service-account.key"
)

// serviceClusterIPRange is that of the cluster's Services; its first address is the API server's.
const (
	serviceClusterIPRange = "10.96.0.0/16"
	apiServerClusterIP    = "10.96.0.1"
)

// certificateLifetime is longer than any sandbox lives.
const certificateLifetime = 10 * 365 * 24 * time.Hour

// authority signs the certificates of one cluster. Its key never leaves the process that starts the cluster.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// keyPair is a certificate and its key in PEM.
type keyPair struct {
	cert, key []byte
}

func (k *keyPair) authInfo() *clientcmdapi.AuthInfo {
	return &clientcmdapi.AuthInfo{ClientCertificateData: k.cert, ClientKeyData: k.key}
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of the certificate authority: %w", err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "podsequence-sandbox"}, key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of the certificate authority: %w", err)
	}
	return &authority{cert: ca, key: key}, nil
}

func (a *authority) certPEM() []byte {
	return encodeCertificate(a.cert.Raw)
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// client issues the certificate of a user.
func (a *authority) client(user string, groups ...string) (*keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// serving issues the certificate of this host's servers. Etcd also shows it as a client, to itself.
func (a *authority) serving() (*keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "podsequence-sandbox-server"},
		DNSNames: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(apiServerClusterIP)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(template *x509.Certificate) (*keyPair, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("choose serial number for %s: %w", name, err)
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.NotBefore = a.cert.NotBefore
	template.NotAfter = a.cert.NotBefore.Add(certificateLifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", name, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode key of %s: %w", name, err)
	}
	return &keyPair{cert: encodeCertificate(der), key: keyPEM}, nil
}

// writePKI writes the certificates and keys that components read from files.
func writePKI(l layout, ca *authority) error {
	serving, err := ca.serving()
	if err != nil {
		return err
	}
	etcdClient, err := ca.client("kube-apiserver-etcd-client")
	if err != nil {
		return err
	}
	// The same file serves to sign and, as it holds the public half, to verify.
	serviceAccountKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("generate service account key: %w", err)
	}
	for file, content := range map[string][]byte{
		caCertFile:            ca.certPEM(),
		servingCertFile:       serving.cert,
		servingKeyFile:        serving.key,
		etcdClientCertFile:    etcdClient.cert,
		etcdClientKeyFile:     etcdClient.key,
		serviceAccountKeyFile: serviceAccountKey,
	} {
		if err := os.WriteFile(l.pki(file), content, 0o600); err != nil {
			return fmt.Errorf("write certificates: %w", err)
		}
	}
	return nil
}
