import { readFileSync } from 'node:fs';
import { create, createFileRegistry, type FileRegistry } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  OneofDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';

const scalars: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  uint32: FieldDescriptorProto_Type.UINT32,
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
};

/** Reads a `.proto` file of the little language that ours needs: messages with scalar fields, message fields and one oneof. */
export function readProto(path: string | URL): FileRegistry {
  const text = readFileSync(path, 'utf8')
    .replace(/\/\/.*/g, '')
    .replaceAll('{}', '{\n}');
  const [, packageName] = /\bpackage ([\w.]+);/.exec(text) ?? [];
  if (packageName === undefined || !text.includes('syntax = "proto3";')) throw new Error('not a proto3 file');
  const messages = [...text.matchAll(/^message (\w+) \{([\s\S]*?)^\}$/gm)];
  const file = create(FileDescriptorProtoSchema, {
    name: 'file.proto',
    package: packageName,
    syntax: 'proto3',
    messageType: messages.map(([, name, body]) => messageOf(name!, body!, packageName)),
  });
  return createFileRegistry(file, () => undefined);
}

function messageOf(name: string, body: string, packageName: string): DescriptorProto {
  const message = create(DescriptorProtoSchema, { name });
  const addOneof = (oneof: string): number =>
    message.oneofDecl.push(create(OneofDescriptorProtoSchema, { name: oneof })) - 1;
  let oneofIndex: number | undefined;
  const optional: typeof message.field = [];
  for (const line of body.split('\n').map((text) => text.trim())) {
    const [, oneof] = /^oneof (\w+) \{$/.exec(line) ?? [];
    const [, presence, type, field, number] = /^(optional )?(\w+) (\w+) = (\d+);$/.exec(line) ?? [];
    if (oneof !== undefined) oneofIndex = addOneof(oneof);
    else if (line === '}') oneofIndex = undefined;
    else if (field !== undefined) {
      const scalar = scalars[type!];
      const descriptor = create(FieldDescriptorProtoSchema, {
        name: field,
        number: Number(number),
        label: FieldDescriptorProto_Label.OPTIONAL,
        ...(scalar === undefined
          ? { type: FieldDescriptorProto_Type.MESSAGE, typeName: `.${packageName}.${type}` }
          : { type: scalar }),
        ...(oneofIndex !== undefined && { oneofIndex }),
        ...(presence !== undefined && { proto3Optional: true }),
      });
      message.field.push(descriptor);
      if (presence !== undefined) optional.push(descriptor);
    } else if (line !== '') throw new Error(`cannot read: ${line}`);
  }
  // Descriptors put an optional scalar into a oneof of its own, after all others.
  for (const descriptor of optional) descriptor.oneofIndex = addOneof(`_${descriptor.name}`);
  return message;
}
