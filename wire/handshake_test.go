package wire

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	mysqlCaps   = 0xdfffffff &^ capTLS // what MySQL 9 offers
	mariadbCaps = mysqlCaps &^ capMySQL
)

// salt has a zero nowhere: servers end it with one.
func salt(first byte) []byte {
	b := make([]byte, 20)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func hello(version string, caps uint32, extended uint32, plugin string) []byte {
	b := append(append([]byte{10}, version...), 0)
	b = binary.LittleEndian.AppendUint32(b, 42)
	b = append(append(b, salt(1)[:8]...), 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(caps))
	b = append(b, 45, 2, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(caps>>16))
	b = append(b, 21, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, extended)
	b = append(append(b, salt(1)[8:]...), 0)
	return append(append(b, plugin...), 0)
}

// peer is the server's side of a handshake.
type peer struct {
	io.ReadWriter
	seq byte
}

func (p *peer) say(payload []byte) {
	p.Write(packets(p.seq, payload)) // a client that hangs up is seen by hear
	p.seq++
}

// hear returns the client's next packet, nil when it has hung up.
func (p *peer) hear() []byte {
	var h [headerSize]byte
	if _, err := io.ReadFull(p, h[:]); err != nil {
		return nil
	}
	b := make([]byte, int(h[0])|int(h[1])<<8|int(h[2])<<16)
	if _, err := io.ReadFull(p, b); err != nil {
		return nil
	}
	p.seq = h[3] + 1
	return b
}

// login takes a login apart: the plugin's move, and its name.
func (p *peer) login() (user string, move []byte, schema, plugin string) {
	b := p.hear()
	if len(b) < 32 {
		return "", nil, "", ""
	}
	caps := binary.LittleEndian.Uint32(b)
	name, rest, _ := bytes.Cut(b[32:], []byte{0})
	move, rest, _ = text(rest)
	if caps&capSchema != 0 {
		var s []byte
		s, rest, _ = bytes.Cut(rest, []byte{0})
		schema = string(s)
	}
	last, _, _ := bytes.Cut(rest, []byte{0})
	return string(name), move, schema, string(last)
}

// provesNative checks a move as a server does, which knows SHA1(SHA1(password)) only.
func provesNative(move, salt []byte, password string) bool {
	once := sha1.Sum([]byte(password))
	stored := sha1.Sum(once[:])
	if len(move) != len(stored) {
		return false
	}
	mask := sha1.Sum(append(bytes.Clone(salt), stored[:]...))
	subtle.XORBytes(mask[:], mask[:], move)
	return sha1.Sum(mask[:]) == stored
}

// provesSHA2 likewise: the server's cache has SHA256(SHA256(password)).
func provesSHA2(move, salt []byte, password string) bool {
	once := sha256.Sum256([]byte(password))
	stored := sha256.Sum256(once[:])
	if len(move) != len(stored) {
		return false
	}
	mask := sha256.Sum256(append(stored[:], salt...))
	subtle.XORBytes(mask[:], mask[:], move)
	return sha256.Sum256(mask[:]) == stored
}

// TestHandshakes plays the server's side of each way in and each refusal. A step of a
// server that is not satisfied says so by an error packet, which shows in the diff.
func TestHandshakes(t *testing.T) {
	const password = "swordfish"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	verdict := func(p *peer, ok bool, what string) {
		if !ok {
			p.say(refusal(1045, "28000", "test: "+what))
			return
		}
		p.say(okay(headOK, 0, 2))
	}
	change := func(plugin string) []byte {
		return append(append([]byte{headEOF}, plugin+"\x00"...), append(salt(100), 0)...)
	}
	for _, x := range []struct {
		name    string
		network string
		empty   bool // no password
		serve   func(p *peer)
		want    string // part of the error; empty: none
	}{
		{name: "native", serve: func(p *peer) {
			p.say(hello("5.6.24", mysqlCaps, 0, pluginNative))
			user, move, schema, plugin := p.login()
			verdict(p, user == "me" && schema == "db" && plugin == pluginNative && provesNative(move, salt(1), password), plugin)
		}},
		{name: "native, no password", empty: true, serve: func(p *peer) {
			p.say(hello("5.6.24", mysqlCaps, 0, pluginNative))
			_, move, _, _ := p.login()
			verdict(p, len(move) == 0, "a move")
		}},
		{name: "MariaDB's capabilities", serve: func(p *peer) {
			p.say(hello("5.5.5-10.11.2-MariaDB", mariadbCaps&0xffffffff, 0x1d, pluginNative))
			b := p.hear()
			// As captured from libmariadb, less local files, attributes, progress and bulk.
			verdict(p, binary.LittleEndian.Uint32(b) == 0x00afa20c && binary.LittleEndian.Uint32(b[28:]) == 0x18, fmt.Sprintf("% x", b[:32]))
		}},
		{name: "MySQL's capabilities", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginSHA2))
			b := p.hear()
			verdict(p, binary.LittleEndian.Uint32(b) == 0x00afa20d && binary.LittleEndian.Uint32(b[28:]) == 0, fmt.Sprintf("% x", b[:32]))
		}},
		{name: "sha2, cached", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginSHA2))
			_, move, _, plugin := p.login()
			if plugin == pluginSHA2 && provesSHA2(move, salt(1), password) {
				p.say([]byte{headMore, sha2Known})
			}
			verdict(p, provesSHA2(move, salt(1), password), plugin)
		}},
		{name: "changed to sha2, not cached, unix", serve: func(p *peer) {
			p.say(hello("8.0.30", mysqlCaps, 0, pluginNative))
			p.login()
			p.say(change(pluginSHA2))
			if !provesSHA2(p.hear(), salt(100), password) {
				verdict(p, false, "no proof")
			}
			p.say([]byte{headMore, sha2Wanted})
			b := p.hear()
			verdict(p, string(b) == password+"\x00", "no password")
		}},
		{name: "sha2, not cached, TCP", network: "tcp", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginSHA2))
			p.login()
			p.say([]byte{headMore, sha2Wanted})
			if b := p.hear(); len(b) != 1 || b[0] != sha2Key {
				verdict(p, false, "the key was not asked for")
			}
			p.say(append([]byte{headMore}, public...))
			b, err := rsa.DecryptOAEP(sha1.New(), nil, key, p.hear(), nil)
			for i := range b {
				b[i] ^= salt(1)[i%20]
			}
			verdict(p, err == nil && string(b) == password+"\x00", fmt.Sprintf("%q %v", b, err))
		}},
		{name: "sha2, no key", network: "tcp", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginSHA2))
			p.login()
			p.say([]byte{headMore, sha2Wanted})
			p.hear()
			p.say([]byte{headMore, '?'})
		}, want: "expected a public key in PEM"},
		{name: "unix_socket", serve: func(p *peer) {
			p.say(hello("11.8.2-MariaDB", mariadbCaps&0xffffffff, 0x1d, pluginNative))
			p.login()
			p.say(change(pluginSocket))
			b := p.hear()
			verdict(p, b != nil && len(b) == 0, fmt.Sprintf("% x", b))
		}},
		{name: "unknown default, known account", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, "authentication_of_tomorrow"))
			p.login()
			p.say(change(pluginNative))
			verdict(p, provesNative(p.hear(), salt(100), password), "no proof")
		}},
		{name: "unknown account", serve: func(p *peer) {
			p.say(hello("11.8.2-MariaDB", mariadbCaps&0xffffffff, 0x1d, pluginNative))
			p.login()
			p.say(change("client_ed25519"))
		}, want: `plugin "client_ed25519" is not supported: give it mysql_native_password or caching_sha2_password`},
		{name: "refused", serve: func(p *peer) {
			p.say(hello("5.6.24", mysqlCaps, 0, pluginNative))
			p.login()
			p.say(refusal(1045, "28000", "Access denied"))
		}, want: "server error 1045 (28000): Access denied"},
		{name: "too many", serve: func(p *peer) { p.say(refusal(1040, "", "Too many connections")) }, want: "server error 1040: Too many connections"},
		{name: "old password", serve: func(p *peer) {
			p.say(hello("5.6.24", mysqlCaps, 0, pluginNative))
			p.login()
			p.say([]byte{headEOF})
		}, want: "a password of MySQL 4.0"},
		{name: "two factors", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginNative))
			p.login()
			p.say([]byte{headFactor, 'x'})
		}, want: "a second authentication factor"},
		{name: "endless", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginSHA2))
			p.login()
			for range 100 {
				p.say([]byte{headMore, sha2Known})
			}
		}, want: "expected an end of authentication"},
		{name: "old protocol", serve: func(p *peer) { p.say([]byte{9, '3', 0}) }, want: "expected a greeting of protocol version 10"},
		{name: "another service", serve: func(p *peer) { io.WriteString(p, "SSH-2.0-OpenSSH_9.2p1\r\n") }, want: "malformed packet"},
		{name: "empty greeting", serve: func(p *peer) { p.say(nil) }, want: "expected a greeting"},
		{name: "hangs up", serve: func(p *peer) {
			p.say(hello("9.7.0", mysqlCaps, 0, pluginSHA2))
			p.login()
		}, want: "log in: server went away"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, fd := pair(t)
			server, err := asConn(fd)
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() {
				x.serve(&peer{ReadWriter: server})
				server.(*net.UnixConn).CloseWrite() // Close alone would not: fd is the same socket
				server.Close()
				close(served)
			}()
			o := Options{Network: "unix", User: "me", Password: password, Schema: "db"}
			if x.network != "" {
				o.Network = x.network
			}
			if x.empty {
				o.Password = ""
			}
			c.SetTimeout(5 * time.Second)
			c.start()
			err = c.session(t.Context(), o)
			unix.Shutdown(c.fd, unix.SHUT_RDWR)
			<-served
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("got %v, want %q", err, x.want)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

// asConn makes a connection with deadlines of a copy of a socket.
func asConn(fd int) (net.Conn, error) {
	copied, err := unix.Dup(fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(copied), "socket")
	defer f.Close()
	return net.FileConn(f)
}

// TestTLS runs the whole client through TLS against a server of Go's: large statements,
// and replies that take many records and many calls of Receive.
func TestTLS(t *testing.T) {
	cert := certificate(t)
	path := filepath.Join(t.TempDir(), "s")
	const rows = 100_000
	reply := packets(1, append(append([][]byte{{1}, column("c"), eof(2)}, slicesOf(rows, values("0123456789012345678901234567890"))...), eof(2))...)
	listen(t, path, func(raw net.Conn) {
		p := &peer{ReadWriter: raw}
		p.say(hello("9.7.0", mysqlCaps|capTLS, 0, pluginSHA2))
		if b := p.hear(); len(b) != 32 {
			return
		}
		p.ReadWriter = tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}})
		p.login()
		p.say([]byte{headMore, sha2Wanted})
		if string(p.hear()) != "swordfish\x00" {
			p.say(refusal(1045, "28000", "no"))
			return
		}
		p.say(okay(headOK, 0, 2))
		for p.hear() != nil {
			p.Write(reply)
		}
	})
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	o := Options{Network: "unix", Address: path, User: "me", Password: "swordfish",
		TLS: &tls.Config{RootCAs: roots, ServerName: "db.example"}, Timeout: 10 * time.Second}
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := c.TLSState(); s == nil || s.Version != tls.VersionTLS13 {
		t.Errorf("TLSState: got %+v, want version 1.3", s)
	}
	for _, size := range []int{10, 5 << 20} {
		if r, err := c.Query(strings.Repeat("x", size)); err != nil || r.Rows != rows {
			t.Fatalf("a statement of %d bytes: got %+v, %v, want %d rows", size, r, err, rows)
		}
	}
	o.TLS = &tls.Config{ServerName: "db.example"}
	if _, err = Dial(t.Context(), o); !errors.As(err, new(*HandshakeError)) || !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("an unknown authority: got %v", err)
	}
	listen(t, path+"2", func(raw net.Conn) { (&peer{ReadWriter: raw}).say(hello("10.5.1-MariaDB", mysqlCaps, 0, pluginNative)) })
	o.Address = path + "2"
	if _, err = Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), "this server offers none") {
		t.Errorf("a server without TLS: got %v", err)
	}
}

// certificate returns one that signs itself, for db.example.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"db.example"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
