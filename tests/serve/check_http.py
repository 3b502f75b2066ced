"""check_http.py METE DB [slow] - `mete serve` as a program meets it: the token, limits, streams, the
end.  slow: also limits of time, which take more than a minute.

Says what does not hold, and how many checks did, on its last line.
"""
import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

METE, DB = sys.argv[1:3]
passed, failed = 0, 0


def check(name, holds, got=''):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f'FAILED {name}: {str(got)[:300]}')


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([METE, 'serve', *words, '--port', '0'], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.port, self.token = parts.port, parts.query.partition('=')[2]

    def ask(self, path, method='GET', headers=None, body=None, token=True):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        headers = dict(headers or {})
        if token:
            headers['Authorization'] = 'Bearer ' + self.token
        c.request(method, path, body=body, headers=headers)
        r = c.getresponse()
        out = r.status, dict(r.getheaders()), r.read()
        c.close()
        return out

    def raw(self, data, seconds=10):
        s = socket.create_connection(('127.0.0.1', self.port), timeout=seconds)
        s.sendall(data)
        out = b''
        try:
            while piece := s.recv(65536):
                out += piece
        except (TimeoutError, ConnectionResetError):
            pass
        s.close()
        return out

    def end(self, number=signal.SIGTERM):
        began = time.time()
        self.process.send_signal(number)
        rc = self.process.wait(timeout=20)
        return rc, time.time() - began, self.process.stderr.read()


def who_is_let_in(s):
    for method in ('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'):
        for path in ('/', '/state', '/events', '/report.html', '/nowhere', '/../../etc/passwd'):
            body = b'x' * 1000 if method in ('POST', 'PUT') else None
            status, headers, data = s.ask(path, method, token=False, body=body)
            check(f'{method} {path} without a token', status == 403 and data == b''
                  and set(headers) <= {'Date', 'Connection', 'Content-Length'}, (status, headers, data))
    wrong = '0' * 32
    for path, headers in (('/?token=' + wrong, {}), ('/?token=', {}), ('/?token', {}),
                          (f'/t/{wrong}/state', {}), ('/t/', {}), (f'/t/{s.token}x/state', {}),
                          ('/', {'Cookie': f'mete-{s.port}={wrong}'}), ('/', {'Authorization': 'Bearer ' + wrong}),
                          ('/', {'Authorization': 'Basic ' + '=' * 2000}), ('/', {'Authorization': 'Basic'}),
                          ('/', {'Cookie': f'mete-1={s.token}'})):
        status, _, data = s.ask(path, headers=headers, token=False)
        check(f'{path} {headers}', status == 403 and data == b'', status)
    basic = base64.b64encode(b'anybody:' + s.token.encode()).decode()
    for path, headers in (('/?token=' + s.token, {}), (f'/t/{s.token}/state', {}),
                          ('/', {'Cookie': f'a=b; mete-{s.port}={s.token}'}),
                          ('/', {'Authorization': 'Token ' + s.token}), ('/', {'Authorization': 'Basic ' + basic})):
        check(f'let in by {path[:3]} {list(headers)}', s.ask(path, headers=headers, token=False)[0] == 200)
    status = s.ask('/state', 'POST', {'Origin': 'http://127.0.0.1:1', 'Host': f'127.0.0.1:{s.port}'})[0]
    check('a page of another port', status == 403, status)
    own = f'127.0.0.1:{s.port}'
    for name, headers, want in (
            ('our own page', {'Origin': 'http://' + own, 'Host': own}, 405),
            ('our own page behind a proxy with TLS', {'Origin': 'https://labels.example.org', 'Host': 'labels.example.org'}, 405),
            ('the same where the proxy changes the host', {'Origin': 'https://labels.example.org', 'Host': own, 'Sec-Fetch-Site': 'same-origin'}, 405),
            ('a page of another port, newer browsers', {'Origin': 'http://' + own, 'Host': own, 'Sec-Fetch-Site': 'same-site'}, 403),
            ('an origin that is none', {'Origin': 'null', 'Host': own}, 403)):
        status = s.ask('/state', 'POST', headers)[0]
        check(name, status == want, status)


def paths_and_methods(s):
    for path in ('/nowhere', '/../x', '/%2e%2e/%2e%2e/etc/passwd', '/live.js/', '/state/../state', '/%00', '/x' * 2000):
        status, _, data = s.ask(path)
        check('no such path ' + path[:30], status == 404 and 'error' in json.loads(data), (status, data))
    check('another method', s.ask('/state', 'DELETE')[0] == 405)
    check('HEAD', s.ask('/', 'HEAD')[0] == 200)
    headers = s.ask('/')[1]
    check('a policy for what the page may load', "default-src 'none'" in headers.get('Content-Security-Policy', ''))
    check('nothing is kept', headers.get('Cache-Control') == 'no-store', headers)
    check('the cookie is for the server alone', 'HttpOnly; SameSite=Strict' in headers.get('Set-Cookie', ''))


def limits(s):
    head = f'POST /state HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {s.token}\r\n'
    got = s.raw((head + 'Content-Length: 9000000\r\nConnection: close\r\n\r\n').encode() + b'x' * 9000000)
    check('a body that is too long', b' 413 ' in got[:20], got[:80])
    got = s.raw(b'GET / HTTP/1.1\r\nHost: x\r\nX: ' + b'y' * 200000 + b'\r\n\r\n')
    check('a head that is too long', b' 200 ' not in got[:20], got[:80])
    for junk in (b'\0\1\2\3\r\n\r\n', b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n', b'POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
                 b'\r\n' * 1000, b'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'):
        got = s.raw(junk + b'\r\n\r\n', 2)
        check(f'junk {junk[:20]}', b' 200 ' not in got[:20], got[:80])
    idle = [socket.create_connection(('127.0.0.1', s.port)) for _ in range(200)]
    time.sleep(0.3)
    for i in idle:
        i.close()
    time.sleep(0.3)
    check('it answers after 200 connections that said nothing', s.ask('/state')[0] == 200)


def time_until_closed(s, data, every=None):
    """Seconds until the server closes a connection that said `data`, and then a byte now and then."""
    c = socket.create_connection(('127.0.0.1', s.port), timeout=every or 100)
    c.sendall(data)
    began = time.time()
    while time.time() - began < 100:
        try:
            if not c.recv(65536):
                break
        except TimeoutError:
            c.sendall(b' ')
        except OSError:
            break
    c.close()
    return time.time() - began


def limits_of_time(s):
    head = f'POST /state HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {s.token}\r\nContent-Length: 1000\r\n\r\n'.encode()
    took = {}

    def measure(name, *how):
        took[name] = time_until_closed(s, *how)
    threads = [threading.Thread(target=measure, args=how) for how in
               (('silence', b''), ('half a head', head[:30]), ('a head that drips', head[:-2], 1),
                ('a body that drips', head, 0.5))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check('silence ends after a minute', 55 < took['silence'] < 75 and 55 < took['half a head'] < 75, took)
    check('a head has a minute', 55 < took['a head that drips'] < 75, took)
    check('a body has half a minute', 25 < took['a body that drips'] < 40, took)


def streams(s):
    got, first = [], threading.Event()

    def read():
        c = http.client.HTTPConnection('127.0.0.1', s.port, timeout=30)
        c.request('GET', '/events', headers={'Authorization': 'Bearer ' + s.token})
        r = c.getresponse()
        while line := r.readline():
            got.append(line)
            first.set()

    thread = threading.Thread(target=read)
    thread.start()
    check('an event comes at once', first.wait(10))
    rc, took, said = s.end()
    thread.join(10)
    check('the stream ends with the server', not thread.is_alive())
    check('a clean end', rc == 0 and took < 5, (rc, took))
    state = json.loads(got[1].partition(b'data: ')[2])
    check('the event is the state', state['done'] > 0 and state['variants'], got[:2])
    check('one line for people', said.count('\n') == 1, said)


server = Server(DB)
who_is_let_in(server)
paths_and_methods(server)
limits(server)
if sys.argv[3:] == ['slow']:
    limits_of_time(server)
streams(server)
other = Server(DB)
check('another token each time', other.token != server.token and len(other.token) == 32)
again = subprocess.run([METE, 'serve', DB, '--port', str(other.port)], capture_output=True, text=True)
check('a port that is taken', again.returncode == 1 and 'is in use' in again.stderr and again.stderr.count('\n') == 1, again.stderr)
check('Ctrl-C ends it, too', other.end(signal.SIGINT)[0] == 0)
print(f'{passed} passed, {failed} failed, 0 skipped')
sys.exit(failed > 0)
