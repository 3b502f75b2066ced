"""check_labelling.py METE DATA [MODEL] - the labelling server as a program meets it: who is let in, bad
requests, the budget, and Label Studio.

DATA is people without labels (tests/people_table), nobody asked yet; MODEL was trained on such.
The last line is "N passed, N failed, 0 skipped".
"""
import http.client
import json
import os
import subprocess
import sys
import threading
from urllib.parse import urlsplit

METE, DATA = sys.argv[1:3]
MODEL = sys.argv[3] if len(sys.argv) > 3 else None
passed, failed = 0, 0


def check(name, holds, got=''):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f'FAILED {name}: {str(got)[:300]}')


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([METE, 'serve', *words, '--port', '0'], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        parts = urlsplit(self.process.stdout.readline().strip())
        self.port, self.token = parts.port, parts.query.partition('=')[2]

    def ask(self, path, body=None, method=None, token=True):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=40)
        data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
        c.request(method or ('POST' if body is not None else 'GET'), path, data,
                  {'Authorization': 'Bearer ' + self.token} if token else {})
        r = c.getresponse()
        out = r.status, r.read()
        c.close()
        return out

    def json(self, path, body=None):
        status, data = self.ask(path, body)
        return status, json.loads(data)

    def end(self):
        self.process.terminate()
        return self.process.wait(20)


def log_size():
    return os.path.getsize(DATA + '/answers.log') if os.path.exists(DATA + '/answers.log') else 0


def status():
    return json.loads(subprocess.run([METE, 'label', 'status', DATA, '--json'], capture_output=True).stdout)


def strangers(s):
    for path in ('/', '/about', '/classes', '/next?who=ann', '/item/0.bmp', '/answers.csv', '/health', '/nowhere'):
        check(f'{path} without a token', s.ask(path, token=False) == (403, b''))
    for path in ('/answer', '/skip', '/undo', '/class', '/predict', '/setup', '/webhook', '/train'):
        check(f'POST {path} without a token', s.ask(path, {'who': 'x', 'item': 0, 'label': 'walk'}, token=False) == (403, b''))
    check('they have changed nothing', log_size() == 0)


def bad_requests(s):
    item = s.json('/next?who=ann&user=p003')[1]['items'][0]['item']
    good = {'who': 'ann', 'user': 'p003', 'item': item, 'label': 'walk'}
    bad = [('no JSON', b'label it'), ('cut JSON', b'{"who": "ann"'), ('nothing', b''), ('an array', b'[]'), ('bytes', b'\xff\xfe{}'),
           ('two documents', json.dumps(good).encode() * 2), ('deep', b'{"a":' + b'[' * 1000), ('nobody', {**good, 'who': ''}),
           ('no who', {k: v for k, v in good.items() if k != 'who'}), ('a long name', {**good, 'who': 'x' * 300}),
           ('no item', {k: v for k, v in good.items() if k != 'item'}), ('an item too far', {**good, 'item': 960}),
           ('an item before', {**good, 'item': -1}), ('half an item', {**good, 'item': 1.5}), ('a huge item', {**good, 'item': 10 ** 30}),
           ('an unknown class', {**good, 'label': 'wlak'}), ('a label of no kind', {**good, 'label': 3}), ('no name', {**good, 'label': ''}),
           ('no label', {k: v for k, v in good.items() if k != 'label'}), ('nobody of that name', {**good, 'user': 'p03'})]
    for name, body in bad:
        code, data = s.ask('/answer', body)
        sentence = json.loads(data).get('error', '')
        check(f'an answer with {name}', code == 400 and sentence and '\n' not in sentence, (code, data))
    for path in ('/next', '/next?who=', '/next?who=ann&user=nobody'):
        check(f'{path} is refused', s.ask(path)[0] == 400)
    for path in ('/item/0.bmp', '/item/', '/item/-1.bmp', '/item/../answers.csv', '/item/%2e%2e/%2e%2e/meta.json', '/meta.json', '/answers.log'):
        check(f'{path} is not there', s.ask(path)[0] == 404, s.ask(path))
    check('a class without a name', s.ask('/class', {'who': 'ann', 'label': None})[0] == 400)
    check('nothing was written', log_size() == 0)


def answers(s):
    view = s.json('/next?who=ann&user=p003')[1]
    first = view['items'][0]['item']
    say = {'who': 'ann', 'user': 'p003', 'item': first, 'label': 'walk'}
    code, view = s.json('/answer', say)
    check('an answer', code == 200 and view['spent'] == 1 and view['last'] == first, view)
    check('the same again is not charged', s.json('/answer', say)[1]['spent'] == 1)
    code, refused = s.json('/answer', {**say, 'who': 'bob', 'label': 'run'})
    check('another answer by somebody else is refused', code == 400 and "is 'walk' by ann" in refused['error'], refused)
    check('a second answer is not', s.json('/answer', {**say, 'who': 'bob', 'label': 'run', 'second': True})[0] == 200)
    check("nobody undoes somebody else's", s.json('/undo', {**say, 'who': 'eve'})[1]['spent'] == 2)
    check('bob undoes his', s.json('/undo', {**say, 'who': 'bob', 'second': True})[1]['spent'] == 1)
    view = s.json('/undo', say)[1]
    check('ann undoes hers, and has it again', view['spent'] == 0 and view['items'][0]['item'] == first, view)
    view = s.json('/skip', say)[1]
    check('a skip', view['spent'] == 0 and view['items'][0]['item'] != first)
    ahead = s.json('/next?who=gil&ahead=5')[1]['items']
    check('as many items as are wanted', len(ahead) == 5, len(ahead))
    check('and not without end', len(s.json('/next?who=gil&ahead=99999999999999999999')[1]['items']) <= 20)
    check('not in a body, either', s.ask('/skip', {'who': 'gil', 'item': ahead[0]['item'], 'ahead': 21})[0] == 400)
    seen, threads = [], []

    def look(who):
        seen.extend(q['item'] for q in s.json(f'/next?who={who}&user=p004')[1]['items'])
    for i in range(7):
        threads.append(threading.Thread(target=look, args=[f'a{i}']))
        threads[-1].start()
    for t in threads:
        t.join()
    check('seven at one person, and no item twice', len(seen) == len(set(seen)) and len(seen) > 10, seen)


def budget(s):
    subprocess.run([METE, 'label', 'status', DATA, '--budget', '2'], capture_output=True, check=True)
    for n in range(2):
        item = s.json('/next?who=ann&user=p005')[1]['items'][0]['item']
        view = s.json('/answer', {'who': 'ann', 'user': 'p005', 'item': item, 'label': None})[1]
        check('within the budget', view['spent'] == n + 1 and view['budget'] == 2, view)
    code, refused = s.json('/answer', {'who': 'ann', 'user': 'p005', 'item': item + 1, 'label': 'sit'})
    check('beyond it', code == 409 and 'budget' in refused['error'] and status()['spent'] == 2, (code, refused))
    view = s.json('/next?who=new&user=p006')[1]
    check('nothing is asked any more', view['left'] == 'budget' and not view['items'], view)
    subprocess.run([METE, 'label', 'status', DATA, '--budget', 'none'], capture_output=True, check=True)
    check('until it is raised', s.json('/next?who=new&user=p006')[1]['items'])


def studio(s):
    check('health', s.json('/health') == (200, {'status': 'UP', 'model_class': 'mete'}))
    check('at an address with the token', s.ask(f'/t/{s.token}/health', token=False)[0] == 200)
    check('setup', 'model_version' in s.json('/setup', {'project': '1.1', 'schema': '<View/>', 'hostname': '', 'access_token': ''})[1])
    tasks = [{'id': i, 'data': {'item': item, 's0': 1}, 'annotations': []} for i, item in enumerate((200, 201, 300))]
    config = '<View><Text name="row" value="$line"/><Choices name="activity" toName="row"><Choice value="run"/></Choices></View>'
    code, got = s.json('/predict', {'tasks': tasks, 'project': '1.1', 'label_config': config, 'params': {'context': None}})
    check('a result for each task', code == 200 and len(got['results']) == 3 and got['model_version'], got)
    if MODEL:
        one = got['results'][0]['result'][0]
        check('as the configuration names it', (one['from_name'], one['to_name'], one['type']) == ('activity', 'row', 'choices'), one)
        check('a class, and how sure', one['value']['choices'][0] in ('climb', 'cycle', 'run', 'sit', 'walk') and 0.2 <= got['results'][0]['score'] <= 1, got)
    else:
        check('nothing to say without a model', got['results'][0]['result'] == [])
    for bad in ({'tasks': [{'id': 1, 'data': {}}]}, {'tasks': [{'data': {'item': 960}}]}, {'tasks': 1}, []):
        check(f'a task that is none: {bad}', s.ask('/predict', bad)[0] == 400)
    before = status()
    event = {'action': 'ANNOTATION_CREATED', 'project': {'id': 1}, 'task': {'id': 1, 'data': {'item': 250, 'user': 'p010'}},
             'annotation': {'id': 9, 'completed_by': 4, 'was_cancelled': False,
                            'result': [{'from_name': 'activity', 'type': 'choices', 'value': {'choices': ['run']}}]}}
    check('an annotation is an answer', s.ask('/webhook', event)[0] == 201 and status()['answered'] == before['answered'] + 1)
    check('told again, it is the same', s.ask('/webhook', event)[0] == 201 and status()['spent'] == before['spent'] + 1)
    event['annotation']['result'][0]['value']['choices'] = ['sit']
    event['action'] = 'ANNOTATION_UPDATED'
    check('an update replaces it', s.ask('/webhook', event)[0] == 201 and status()['spent'] == before['spent'] + 1)
    csv = s.ask('/answers.csv')[1].decode()
    check('by whom', any(line.startswith('250,') and ',sit,annotator 4,' in line for line in csv.split('\n')), csv)
    event['annotation']['completed_by'], event['action'] = 5, 'ANNOTATION_CREATED'
    check('somebody else agrees', s.ask('/webhook', event)[0] == 201 and status()['agreed'] == before['agreed'] + 1, status())
    event['annotation']['was_cancelled'] = True
    event['annotation']['completed_by'] = 6
    check('a skip is none', s.ask('/webhook', event)[0] == 201 and status()['second'] == before['second'] + 1)
    event['task']['data']['user'] = 'p011'
    event['annotation']['was_cancelled'] = False
    check("an item of somebody else's", s.ask('/webhook', event)[0] == 400)
    check('other events', s.ask('/webhook', {'action': 'PROJECT_UPDATED', 'project': {}})[0] == 201)
    check('nothing is to be trained', s.ask('/train', {})[0] == 201)


server = Server(DATA, *(['--model', MODEL] if MODEL else []))
strangers(server)
bad_requests(server)
answers(server)
budget(server)
studio(server)
if MODEL:
    view = server.json('/next?who=ann&user=p007')[1]
    check('how sure the model is', view['model']['user'] == 'p007' and 0.2 <= view['model']['sure'] <= 1, view)
    check('and what it guesses', view['items'][0]['guess'] in ('climb', 'cycle', 'run', 'sit', 'walk'), view['items'][0])


def wait_for_end():
    try:
        server.ask('/next?who=ann&user=p008')
    except OSError:
        pass  # the server was quicker


waiting = threading.Thread(target=wait_for_end)
waiting.start()
check('a clean end', server.end() == 0)
waiting.join()
print(f'{passed} passed, {failed} failed, 0 skipped')
sys.exit(failed > 0)
