"""kill_labelling.py METE CSV N [SEED] - N times: two annotators label over HTTP, and the server is
killed at a random moment.  No answer that was confirmed may be lost, and none charged twice, also
where the page says again what was not confirmed.

CSV is a table of people without labels (tests/people_table).  The last line is "N passed, N failed".
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit
import http.client

METE, CSV, N = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
CLASSES = ['climb', 'cycle', 'run', 'sit', 'walk']
passed, failed, confirmed_in_all, again_in_all = 0, 0, 0, 0


class Server:
    def __init__(self, data):
        self.process = subprocess.Popen([METE, 'serve', data, '--port', '0'], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        parts = urlsplit(self.process.stdout.readline().strip())
        self.port, self.token = parts.port, parts.query.partition('=')[2]


class Annotator(threading.Thread):
    """Labels as fast as answers come, and keeps what was confirmed and what was not."""

    def __init__(self, server, who, unsaid, said):
        super().__init__()
        self.server, self.who, self.seed, self.said = server, who, rng.random(), said
        self.confirmed, self.unsaid = {}, list(unsaid)  # item -> what stands; (path, item, label)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body else None,
                                {'Authorization': 'Bearer ' + self.server.token})
        answer = self.connection.getresponse()
        data = json.loads(answer.read())
        assert answer.status == 200, data
        return data

    def say(self, path, item, label):
        self.unsaid.append((path, item, label))
        view = self.ask('POST', path, {'who': self.who, 'item': item, 'label': label})
        self.unsaid.pop()
        self.confirmed[item] = 'nothing' if path == '/undo' else label or 'not sure'
        return view

    def run(self):
        r = random.Random(self.seed)
        try:
            self.connection = http.client.HTTPConnection('127.0.0.1', self.server.port, timeout=30)
            for path, item, label in [*self.unsaid]:  # said before, and not confirmed
                self.unsaid.pop(0)
                self.say(path, item, label)
            self.said.wait()  # before anybody may be asked about these
            view = self.ask('GET', f'/next?who={self.who}')
            while True:
                if not view['items']:
                    view = self.ask('GET', f'/next?who={self.who}&again=1')
                    if view['left'] == 'none':
                        return
                    continue
                item, label = view['items'][0]['item'], r.choice(CLASSES + [None])
                view = self.say('/answer', item, label)
                if r.random() < 0.15:
                    view = self.say('/undo', item, None)
        except (OSError, http.client.HTTPException, json.JSONDecodeError, threading.BrokenBarrierError):
            self.said.abort()  # the server is gone


def standing(data):
    """(item, who) -> label of what counts and is charged, read by the log's own rules."""
    rows = []
    batch = []
    with open(data + '/answers.log', encoding='utf-8') as f:
        for line in f.read().split('\n')[1:]:
            word = line.split('\t')
            if word[0] == 'end':
                rows, batch = rows + batch, []
            elif word[0]:
                batch.append(word)
    undone = {int(w[3]) for w in rows if w[0] == 'undo'}
    out = {}
    for number, w in enumerate(rows):
        if w[0] in ('label', 'unknown') and number not in undone:
            key = int(w[3]), w[2]
            if key in out:
                check('an answer is charged once', False, key)
            out[key] = w[4] if w[0] == 'label' else 'not sure'
    return out


def check(name, holds, got=''):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f'FAILED {name}: {str(got)[:300]}')


with tempfile.TemporaryDirectory() as folder:
    fresh, data = folder + '/fresh', folder + '/data'
    subprocess.run([METE, 'data', 'import', 'table', CSV, '--label', 'activity', '--user', 'person', '--set',
                    'classes=' + ','.join(CLASSES), '-o', fresh], check=True, capture_output=True)
    known, unsaid = {}, {}
    for kill in range(N):
        if kill % 20 == 0:
            shutil.rmtree(data, ignore_errors=True)
            shutil.copytree(fresh, data)
            known, unsaid = {}, {'ann': [], 'bob': []}
        again = sum(map(len, unsaid.values()))
        server = Server(data)
        said = threading.Barrier(2)
        pair = [Annotator(server, who, unsaid[who], said) for who in ('ann', 'bob')]
        for a in pair:
            a.start()
        time.sleep(rng.uniform(0, 0.4))
        server.process.kill()
        server.process.wait()
        for a in pair:
            a.join()
            known.update({(item, a.who): label for item, label in a.confirmed.items()})
            unsaid[a.who] = a.unsaid
        if not os.path.exists(data + '/answers.log'):
            check(f'kill {kill}: nothing was confirmed', not known, known)
            continue
        unclear = {(item, a.who) for a in pair for _, item, _ in a.unsaid}
        now = standing(data)
        lost = {i: k for i, k in known.items() if i not in unclear and now.get(i, 'nothing') != k}
        more = {i: k for i, k in now.items() if i not in known and i not in unclear}
        check(f'kill {kill}: what was confirmed stands', not lost, lost)
        check(f'kill {kill}: nothing else does', not more, more)
        status = json.loads(subprocess.run([METE, 'label', 'status', data, '--json'], capture_output=True).stdout)
        check(f'kill {kill}: each is charged once', status['spent'] == len(now) == status['answered'] + status['unknown'], status)
        confirmed_in_all += sum(len(a.confirmed) for a in pair)
        again_in_all += again
    print(f'{N} kills, {confirmed_in_all} confirmed answers and undos, {again_in_all} said again')
    check('some answers were confirmed, and some said again', confirmed_in_all > N and (again_in_all > 0 or N < 5))
print(f'{passed} passed, {failed} failed, 0 skipped')
sys.exit(failed > 0)
